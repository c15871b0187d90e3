import { computeAddress, verifyMessage } from 'ethers';

/** 27 and 28, or 0 and 1 as hardware wallets have it. */
const RECOVERY_BYTES = new Set(['00', '01', '1b', '1c']);

/**
 * The address whose key signed the text by EIP-191 (`personal_sign`), in EIP-55 form.
 * `undefined` for a signature that no key makes, or that is not in the one canonical form (low s).
 */
export const recoverSigner = (text: string, signature: string): string | undefined => {
  if (!RECOVERY_BYTES.has(signature.slice(-2))) return undefined;
  try {
    return verifyMessage(text, signature);
  } catch {
    return undefined;
  }
};

/** Of a private key, 32 bytes of `0x` hex. */
export const addressOfKey = (privateKey: string): string => computeAddress(privateKey);
