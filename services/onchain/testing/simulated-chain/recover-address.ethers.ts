import { hexlify, recoverAddress as recoverInJavaScript } from 'ethers';
import { isCanonical } from '../../../../shared/keys/signatures/canonical-signature.ts';
import { recoverNatively } from './recover-address.secp256k1.ts';

/**
 * Returns the signer of a digest, EIP-55; `undefined` if a contract's ECDSA library or a node would refuse the signature.
 * @param signature 65 bytes, lower-case `0x` hex: r, s, and 27 or 28
 */
export const recoverAddress = (digest: Uint8Array, signature: string): string | undefined => {
  if (!isCanonical(signature) || !/1[bc]$/.test(signature)) return undefined;
  try {
    return recoverNatively ? recoverNatively(digest, signature) : recoverInJavaScript(hexlify(digest), signature);
  } catch {
    return undefined;
  }
};
