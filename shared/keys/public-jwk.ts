import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { sha256 } from '../primitives/ids.ts';

const coordinatesSchema = z.object({ crv: z.literal('P-256'), kty: z.literal('EC'), x: z.string(), y: z.string() });

/** The members that identify a public P-256 key in a JWKS. */
export const coordinates = (publicKey: KeyObject) => coordinatesSchema.parse(publicKey.export({ format: 'jwk' }));

/** Derives the id of a key from its public part. */
export const keyId = (publicKey: KeyObject): string => sha256(JSON.stringify(coordinates(publicKey))).slice(0, 32);
