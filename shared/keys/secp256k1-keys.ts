import { createECDH, hash } from 'node:crypto';
import { checksumAddress } from '../chain/address.ts';

const KEY_BYTES = 32;
const ADDRESS_BYTES = 20;

/** Returns a new private key, 32 bytes. */
export const newPrivateKey = (): Buffer => {
  const curve = createECDH('secp256k1');
  curve.generateKeys();
  const key = curve.getPrivateKey();
  return Buffer.concat([Buffer.alloc(KEY_BYTES - key.length), key]);
};

/** Returns the address of a private key, in EIP-55 form. */
export const addressOfKey = (privateKey: Uint8Array): string => {
  const curve = createECDH('secp256k1');
  curve.setPrivateKey(privateKey);
  const point = curve.getPublicKey().subarray(1);
  return checksumAddress(hash('keccak-256', point, 'buffer').subarray(-ADDRESS_BYTES).toString('hex'));
};
