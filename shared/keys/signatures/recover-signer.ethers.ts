import { verifyMessage } from 'ethers';
import { isCanonical, type RecoverSigner } from './canonical-signature.ts';

export const recoverInJavaScript: RecoverSigner = (text, signature) => {
  if (!isCanonical(signature)) return undefined;
  try {
    return verifyMessage(text, signature);
  } catch {
    return undefined;
  }
};
