import { randomFillSync } from 'node:crypto';

/** Pool of random bytes not handed out yet: one call of the CSPRNG takes far longer than a copy of a few bytes. */
const pool = Buffer.alloc(4_096);
let given = pool.length;

/** Returns random bytes of a CSPRNG, at most 4,096. */
export const someRandomBytes = (count: number): Buffer => {
  if (count > pool.length) throw new RangeError(`${String(count)} random bytes are more than the pool has`);
  if (count > pool.length - given) {
    randomFillSync(pool);
    given = 0;
  }
  given += count;
  return Buffer.copyBytesFrom(pool, given - count, count);
};
