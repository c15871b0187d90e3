import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { SiweMessage } from 'siwe';
import { createSiweMessage, parseSiweMessage, type SiweMessage as ViemMessage } from 'viem/siwe';
import { normaliseOrigin } from '../../apps/domain/app-addresses.ts';
import { challengeMessage } from './challenge-message.ts';

const challenge = {
  appId: 'app_1',
  origin: 'https://shop.example:8443',
  signer: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  chainId: 10,
  nonce: 'k3n8w2q7',
  issuedAt: '2026-01-02T12:00:00.000Z',
  expiresAt: '2026-01-02T12:05:00.000Z',
};

const normalised = (text: string): string | undefined => {
  try {
    return normaliseOrigin(text, { allowLocalHttp: true });
  } catch {
    return undefined;
  }
};
const label = fc.string({
  unit: fc.constantFrom('a', 'b', 'z', '0', '9', '-', '_', 'ü', 'и', 'あ', '例'),
  minLength: 1,
  maxLength: 12,
});
const host = fc.oneof(
  fc.domain(),
  label,
  fc.tuple(label, label).map((labels) => labels.join('.')),
  fc.webAuthority({ withIPv4Extended: true }),
  fc.ipV4(),
  fc.ipV6().map((address) => `[${address}]`),
  fc.constantFrom('localhost', '127.0.0.1', '[::1]'),
  fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 10 }),
);
const port = fc.oneof(
  fc.constant(''),
  fc.nat(65_535).map((number) => `:${String(number)}`),
);
/** Every origin that an app may have; `undefined` where it is refused. */
const origin = fc
  .tuple(fc.constantFrom('https', 'http'), host, port)
  .map(([scheme, name, at]) => normalised(`${scheme}://${name}${at}`));

describe('the message of a challenge', () => {
  it('is an ERC-4361 message with domain, address, URI, chain, nonce and validity', () => {
    expect(challengeMessage(challenge)).toBe(
      `shop.example:8443 wants you to sign in with your Ethereum account:
0x70997970C51812dc3A010C7d01b50e0d17dc79C8

Sign in. This costs nothing and sends no transaction.

URI: https://shop.example:8443
Version: 1
Chain ID: 10
Nonce: k3n8w2q7
Issued At: 2026-01-02T12:00:00.000Z
Expiration Time: 2026-01-02T12:05:00.000Z`,
    );
  });

  it('is read and written back byte for byte by siwe, for every origin that an app may have', () => {
    fc.assert(
      fc.property(origin, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (from, chainId) => {
        fc.pre(from !== undefined);
        const message = challengeMessage({ ...challenge, origin: from, chainId });
        const read = new SiweMessage(message);
        expect(read.prepareMessage()).toBe(message);
        expect(read).toMatchObject({ domain: new URL(from).host, uri: from, chainId, nonce: challenge.nonce });
      }),
      { numRuns: 500 },
    );
  });

  it('is read and written back byte for byte by viem, whose grammar wants no hyphen at the edge of a label, and a top-level domain of letters', () => {
    fc.assert(
      fc.property(origin, (from) => {
        fc.pre(from !== undefined && /^(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z]{2,}$/.test(new URL(from).hostname));
        const message = challengeMessage({ ...challenge, origin: from });
        expect(createSiweMessage(parseSiweMessage(message) as ViemMessage)).toBe(message);
      }),
    );
  });
});
