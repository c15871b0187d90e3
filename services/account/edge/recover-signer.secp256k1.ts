import { hash } from 'node:crypto';
import { checksumAddress } from '../../../shared/chain/address.ts';
import { isCanonical, type RecoverSigner } from './canonical-signature.ts';
import { messageDigest } from './message-digest.ts';

/** libsecp256k1, as the package's binaries for Node offer it. */
interface Library {
  /** Returns 65 bytes: 4, x and y. @throws Error if no key made the signature */
  ecdsaRecover: (signature: Uint8Array, recoveryId: number, digest: Uint8Array, compressed: false) => Uint8Array;
}

const RECOVERY_BYTE_FROM_27 = 27;
const ADDRESS_BYTES = 20;

/** Returns `undefined` where the package has no binary for this machine. */
const load = async (): Promise<Library | undefined> => {
  try {
    // The package's main file would take a library in JavaScript that is slower than ethers.
    // @ts-expect-error: the package has no types
    return ((await import('secp256k1/bindings.js')) as { default: Library }).default;
  } catch {
    return undefined;
  }
};
const library = await load();

const recoverWith =
  ({ ecdsaRecover }: Library): RecoverSigner =>
  (text, signature) => {
    if (!isCanonical(signature) || !text.isWellFormed()) return undefined;
    const bytes = Buffer.from(signature.slice(2), 'hex');
    const last = bytes.at(-1) ?? 0;
    const recoveryId = last < RECOVERY_BYTE_FROM_27 ? last : last - RECOVERY_BYTE_FROM_27;
    try {
      const key = ecdsaRecover(bytes.subarray(0, -1), recoveryId, messageDigest(text), false);
      return checksumAddress(hash('keccak-256', key.subarray(1), 'buffer').subarray(-ADDRESS_BYTES).toString('hex'));
    } catch {
      return undefined;
    }
  };

/** Recovers in a twentieth of the time that ethers takes; `undefined` where there is no binary for this machine. */
export const recoverNatively = library && recoverWith(library);
