import type { RecoverSigner } from './canonical-signature.ts';
import { recoverInJavaScript } from './recover-signer.ethers.ts';
import { recoverNatively } from './recover-signer.secp256k1.ts';

/** Whether this machine has the fast library. */
export const isNative = recoverNatively !== undefined;

export const recoverSigner: RecoverSigner = recoverNatively ?? recoverInJavaScript;
