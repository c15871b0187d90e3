import { hash, randomFillSync, randomUUID } from 'node:crypto';

/** Ids and randomness as arguments. */
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

/** Bytes of the CSPRNG that were not given out yet: asking it takes far longer than a few bytes do. */
const pool = Buffer.alloc(4_096);
let given = pool.length;

const random = (count: number): Uint8Array => {
  if (count > pool.length - given) {
    randomFillSync(pool);
    given = 0;
  }
  given += count;
  return pool.subarray(given - count, given);
};

export const systemIds: Ids = {
  uuid: () => randomUUID(),
  token: (length) => encodeToken(random(length), length),
};

export const sha256 = (text: string | Uint8Array): string => hash('sha256', text);
