import { hash } from 'node:crypto';

/** Returns the digest that a wallet signs for a text by EIP-191 (`personal_sign`). */
export const messageDigest = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  const prefix = `\x19Ethereum Signed Message:\n${String(bytes.length)}`;
  return hash('keccak-256', Buffer.concat([Buffer.from(prefix), bytes]), 'buffer');
};
