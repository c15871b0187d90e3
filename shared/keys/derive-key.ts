import { hkdfSync } from 'node:crypto';

export const KEY_BYTES = 32;

/** Derives a separate key for each purpose (RFC 5869, HKDF-SHA-256). */
export const deriveKey = (masterKey: Uint8Array, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', `annals/${purpose}`, KEY_BYTES));
