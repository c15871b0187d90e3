import { libsecp256k1 } from '../../../../shared/keys/signatures/libsecp256k1.secp256k1.ts';
import { addressOfPoint } from '../../../../shared/keys/signatures/secp256k1-keys.ts';

const V_OF_EVEN_Y = 27;

const recoverWith =
  ({ ecdsaRecover }: NonNullable<typeof libsecp256k1>) =>
  (digest: Uint8Array, signature: string): string => {
    const bytes = Buffer.from(signature.slice(2), 'hex');
    const recoveryId = (bytes.at(-1) ?? 0) - V_OF_EVEN_Y;
    return addressOfPoint(ecdsaRecover(bytes.subarray(0, -1), recoveryId, digest, false));
  };

/** `undefined` if there is no binary for this machine. */
export const recoverNatively = libsecp256k1 && recoverWith(libsecp256k1);
