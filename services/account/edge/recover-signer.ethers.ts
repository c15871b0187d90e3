import { computeAddress, verifyMessage } from 'ethers';

/** 27 and 28, or 0 and 1 as hardware wallets send it. */
const RECOVERY_BYTES = new Set(['00', '01', '1b', '1c']);

/**
 * Returns the address, with EIP-55 checksum, whose key signed the text by EIP-191 (`personal_sign`).
 * @returns `undefined` if the signature is not valid or not in canonical form (low s)
 */
export const recoverSigner = (text: string, signature: string): string | undefined => {
  if (!RECOVERY_BYTES.has(signature.slice(-2))) return undefined;
  try {
    return verifyMessage(text, signature);
  } catch {
    return undefined;
  }
};

/** Returns the address of a private key of 32 bytes in `0x` hex. */
export const addressOfKey = (privateKey: string): string => computeAddress(privateKey);
