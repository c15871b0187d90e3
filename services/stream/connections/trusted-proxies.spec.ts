import type { IncomingMessage } from 'node:http';
import { expect, it } from '@jest/globals';
import { TrustedProxies } from './trusted-proxies.ts';

const proxies = new TrustedProxies({ TRUSTED_PROXIES: ['10.0.0.0/8', '::2'] });
const addressOf = (remoteAddress: string, forwardedFor?: string) =>
  proxies.addressOf({
    socket: { remoteAddress },
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
  } as unknown as IncomingMessage);

it("the client's address is the nearest that is no trusted proxy's, whatever it writes before", () => {
  expect(addressOf('192.0.2.1')).toBe('192.0.2.1');
  expect(addressOf('192.0.2.1', '198.51.100.1')).toBe('192.0.2.1');
  expect(addressOf('10.1.2.3', '198.51.100.1')).toBe('198.51.100.1');
  expect(addressOf('10.1.2.3', '203.0.113.9, 198.51.100.1,10.9.9.9')).toBe('198.51.100.1');
  expect(addressOf('::ffff:10.1.2.3', '2001:db8::1, ::2')).toBe('2001:db8::1');
  expect(addressOf('10.1.2.3', '10.4.4.4')).toBe('10.4.4.4');
  expect(addressOf('10.1.2.3', 'nobody')).toBe('10.1.2.3');
  expect(addressOf('10.1.2.3')).toBe('10.1.2.3');
});
