import { computeAddress, verifyMessage } from 'ethers';
import { isCanonical, type RecoverSigner } from './canonical-signature.ts';

export const recoverInJavaScript: RecoverSigner = (text, signature) => {
  if (!isCanonical(signature)) return undefined;
  try {
    return verifyMessage(text, signature);
  } catch {
    return undefined;
  }
};

/** Returns the address of a private key of 32 bytes in `0x` hex. */
export const addressOfKey = (privateKey: string): string => computeAddress(privateKey);
