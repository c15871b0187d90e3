import { describe, expect, it } from '@jest/globals';
import { EndpointAddress } from './endpoint-address.ts';

describe('the address of an endpoint', () => {
  it('without credentials is used as it is', () => {
    expect(new EndpointAddress('https://rpc.example:8443/v3/0123456789?x=1')).toMatchObject({
      url: 'https://rpc.example:8443/v3/0123456789?x=1',
      headers: {},
    });
  });

  it.each([
    ['https://ada:p%40ss@rpc.example/', 'ada:p@ss'],
    ['https://ada@rpc.example/', 'ada:'],
    ['https://:p%40ss@rpc.example/', ':p@ss'],
  ])('%s sends its credentials as a header, because fetch accepts none in a URL', (address, credentials) => {
    expect(new EndpointAddress(address)).toMatchObject({
      url: 'https://rpc.example/',
      headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    });
  });
});

describe('the texts of an endpoint', () => {
  const address = new EndpointAddress('https://ada%20l:hush-hush@rpc.example/v3/0123456789?apikey=s%65cret-key&n=1');

  it.each([
    ['the key 0123456789 is blocked', 'the key <secret> is blocked'],
    ['no secret-key, no s%65cret-key', 'no <secret>, no <secret>'],
    ['hush-hush, ada l', '<secret>, ada l'],
    ['HUSH-Hush of RPC.example, S%65CRET-KEY', '<secret> of <host>, <secret>'],
    [`authorization: Basic ${btoa('ada l:hush-hush')}`, 'authorization: Basic <secret>'],
    [`${btoa('ada l:hush-hush').replaceAll('=', '')} is unknown`, '<secret> is unknown'],
    ['getaddrinfo ENOTFOUND rpc.example', 'getaddrinfo ENOTFOUND <host>'],
    ['getaddrinfo EAI_AGAIN erigon', 'getaddrinfo EAI_AGAIN <host>'],
    ['connect ECONNREFUSED 10.1.2.3:8545', 'connect ECONNREFUSED <host>'],
    ['connect ECONNREFUSED ::1:8545 and fe80::1ff:fe23:4567:890a', 'connect ECONNREFUSED <host> and <host>'],
    ['[2001:db8::1]:8545 or erigon-0:8545 is away', '<host> or <host> is away'],
    ['upgrade your account at QuickNode.com/pricing, please.', 'upgrade your account at <host>, please.'],
    ['ask support@provider.io. Or else', 'ask support@<host>. Or else'],
    ['a.b.svc.cluster.local:443 is away', '<host> is away'],
    ['https:\\/\\/billing.example\\/x', '<url>'],
    [
      'block 1.5 is limited to 10000, at 0x1f, 12:30:01, v1.2.3',
      'block 1.5 is limited to 10000, at 0x1f, 12:30:01, v1.2.3',
    ],
    ['{"code":-32005,"limit":10000}', '{"code":-32005,"limit":10000}'],
    ['see https://billing.example/0?a=1, or wss://x', 'see <url> or <url>'],
    ['v3 takes\n\t 1  block', 'v3 takes 1 block'],
  ])('%j are shown as %j', (text, shown) => {
    expect(address.redact(text)).toBe(shown);
  });

  it('are shown without any part of the address that has six characters or more', () => {
    expect(new EndpointAddress('https://rpc.example/abcdef/abcde').redact('abcdef abcde')).toBe('<secret> abcde');
  });

  it('are shown up to their 300th character', () => {
    expect(address.redact('x'.repeat(301))).toBe('x'.repeat(300));
  });
});
