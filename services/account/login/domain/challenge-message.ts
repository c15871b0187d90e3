import type { Challenge } from './challenge.ts';

/**
 * The ERC-4361 message of a challenge. Written out here because viem, which the spec compares it with, refuses hosts
 * of one label and international top-level domains.
 */
export const challengeMessage = ({
  origin,
  signer,
  chainId,
  nonce,
  issuedAt,
  expiresAt,
}: Omit<Challenge, 'redemption'>) =>
  `${new URL(origin).host} wants you to sign in with your Ethereum account:
${signer}

Sign in. This costs nothing and sends no transaction.

URI: ${origin}
Version: 1
Chain ID: ${String(chainId)}
Nonce: ${nonce}
Issued At: ${issuedAt}
Expiration Time: ${expiresAt}`;
