import { signInJavaScript } from './sign-digest.ethers.ts';
import { signNatively } from './sign-digest.secp256k1.ts';

/**
 * Signs 32 bytes. The same key and digest give the same signature (RFC 6979).
 * @returns 65 bytes: r, s (low, EIP-2), and 27 or 28
 * @throws Error if it is not a private key
 */
export const signDigest = signNatively ?? signInJavaScript;
