import { createECDH, hash } from 'node:crypto';
import { checksumAddress } from '../../chain/identifiers/address.ts';
import { libsecp256k1 } from './libsecp256k1.secp256k1.ts';

const KEY_BYTES = 32;
const ADDRESS_BYTES = 20;

/** Returns a new private key, 32 bytes. */
export const newPrivateKey = (): Buffer => {
  const curve = createECDH('secp256k1');
  curve.generateKeys();
  const key = curve.getPrivateKey();
  return Buffer.concat([Buffer.alloc(KEY_BYTES - key.length), key]);
};

/** Fallback: OpenSSL takes twenty times as long as libsecp256k1. */
export const pointByOpenSsl = (privateKey: Uint8Array): Uint8Array => {
  const curve = createECDH('secp256k1');
  curve.setPrivateKey(privateKey);
  return curve.getPublicKey();
};

const pointOfKey = (privateKey: Uint8Array): Uint8Array =>
  libsecp256k1?.publicKeyCreate(privateKey, false) ?? pointByOpenSsl(privateKey);

/** Returns the address of a private key, in EIP-55 form. */
export const addressOfKey = (privateKey: Uint8Array): string => addressOfPoint(pointOfKey(privateKey));

/**
 * Returns the address of a public key, in EIP-55 form.
 * @param point 65 bytes: 4, x and y
 */
export const addressOfPoint = (point: Uint8Array): string =>
  checksumAddress(hash('keccak-256', point.subarray(1), 'buffer').subarray(-ADDRESS_BYTES).toString('hex'));
