/**
 * Minimum bits per term; up to 16, because the number of bits is a power of two. At most 1 in 100 terms is a false
 * positive.
 */
const BITS_EACH_MIN = 8;
const PROBES = 5;
/** Terms are practically random, so the two halves of a term serve as two hashes. */
const HALF = 2 ** 26;

/**
 * Makes a Bloom filter of terms. Stored data, which changes only with a new version: the probes of a term are its lower
 * half plus multiples of its upper half, made odd.
 */
export const bloomFilter = (terms: ReadonlySet<number>): Uint8Array => {
  const bits = 2 ** Math.max(3, Math.ceil(Math.log2(BITS_EACH_MIN * terms.size)));
  const filter = new Uint8Array(bits / 8);
  for (const term of terms) {
    for (let probe = 0; probe < PROBES; probe += 1) {
      const bit = bitOf(filter, term, probe);
      filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7));
    }
  }
  return filter;
};

/** Whether a term may be in the set of a filter. Never `false` for a term of the set. */
export const mayHave = (filter: Uint8Array, term: number): boolean => {
  for (let probe = 0; probe < PROBES; probe += 1) {
    const bit = bitOf(filter, term, probe);
    if (((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
};

const bitOf = (filter: Uint8Array, term: number, probe: number): number =>
  ((term % HALF) + probe * ((Math.floor(term / HALF) % HALF) | 1)) & (8 * filter.length - 1);
