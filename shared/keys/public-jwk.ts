import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { sha256 } from '../primitives/ids.ts';

const coordinatesSchema = z.object({ crv: z.literal('P-256'), kty: z.literal('EC'), x: z.string(), y: z.string() });

/** The members of a public P-256 key in a JWKS that say which it is. */
export const coordinates = (publicKey: KeyObject) => coordinatesSchema.parse(publicKey.export({ format: 'jwk' }));

/** The id of a key follows from its public part. */
export const keyId = (publicKey: KeyObject): string => sha256(JSON.stringify(coordinates(publicKey))).slice(0, 32);
