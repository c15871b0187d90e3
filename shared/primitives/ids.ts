import { hash, randomUUID } from 'node:crypto';
import { someRandomBytes } from './random-bytes.ts';

/** Ids and randomness, passed in as arguments. */
export interface Ids {
  /** An RFC 9562 UUID: the id of an event. */
  uuid(): string;
  /** `length` characters of `0-9a-z` from a CSPRNG, five bits each. */
  token(length: number): string;
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Encodes the first `length` characters of the bytes, five bits each. */
export const encodeToken = (bytes: Uint8Array, length: number): string =>
  Array.from(bytes.subarray(0, length), (byte) => ALPHABET[byte & 31]).join('');

export const systemIds: Ids = {
  uuid: () => randomUUID(),
  token: (length) => encodeToken(someRandomBytes(length), length),
};

export const sha256 = (text: string | Uint8Array): string => hash('sha256', text);
