import { randomFillSync } from 'node:crypto';

/** Bytes of the CSPRNG that were not given out yet: asking it takes far longer than a few bytes do. */
const pool = Buffer.alloc(4_096);
let given = pool.length;

/** Returns some bytes of a CSPRNG, at most 4,096. */
export const someRandomBytes = (count: number): Buffer => {
  if (count > pool.length) throw new RangeError(`${String(count)} random bytes are more than the pool has`);
  if (count > pool.length - given) {
    randomFillSync(pool);
    given = 0;
  }
  given += count;
  return Buffer.copyBytesFrom(pool, given - count, count);
};
