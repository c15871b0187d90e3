import { expect, it } from '@jest/globals';
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

it('the message of a challenge is an ERC-4361 message with domain, address, URI, chain, nonce and validity', () => {
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
