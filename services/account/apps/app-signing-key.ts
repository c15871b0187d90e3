import { addressOfKey } from '../../../shared/keys/signatures/secp256k1-keys.ts';
import { sha256, type Ids } from '../../../shared/primitives/ids.ts';

/** Returns a new signing key of an app, which is shown once and never stored: 260 random bits, hashed to 256. */
export const newSigningKey = (ids: Ids): string => `0x${sha256(ids.token(52))}`;

/** Returns the address of a signing key, in EIP-55 form. */
export const signerOf = (signingKey: string): string => addressOfKey(Buffer.from(signingKey.slice(2), 'hex'));
