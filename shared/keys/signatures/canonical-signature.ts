/**
 * Returns the address, with EIP-55 checksum, whose key signed the text by EIP-191 (`personal_sign`).
 * @param signature 65 bytes in lower-case `0x` hex
 * @returns `undefined` if the signature is not valid or not in canonical form (low s)
 */
export type RecoverSigner = (text: string, signature: string) => string | undefined;

/** 27 and 28, or 0 and 1 as hardware wallets send it. */
const RECOVERY_BYTES = new Set(['00', '01', '1b', '1c']);
/**
 * Half of the order of the curve. A signature with a larger s is the twin of another signature, which anybody can
 * compute. ethers checks only the first bit of s.
 */
const S_MAX = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0';

/** Whether a signature in lower-case hex has 65 bytes and the canonical form (EIP-2). */
export const isCanonical = (signature: string): boolean =>
  /^0x[0-9a-f]{130}$/.test(signature) && signature.slice(66, 130) <= S_MAX && RECOVERY_BYTES.has(signature.slice(-2));
