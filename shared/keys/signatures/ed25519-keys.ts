import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** PKCS #8 of an Ed25519 key, up to its seed. */
const PKCS8_BEFORE_SEED = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @param seed 32 bytes (RFC 8032, 5.1.5) */
export const privateKeyOfSeed = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_BEFORE_SEED, seed]), format: 'der', type: 'pkcs8' });

/** Returns the 32 bytes of the public key. */
export const publicKeyOfSeed = (seed: Uint8Array): Buffer => {
  const { x = '' } = createPublicKey(privateKeyOfSeed(seed)).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url');
};
