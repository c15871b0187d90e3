/** 8 to 16, since the number of bits is a power of two: 1 in 100 terms or fewer is taken for one that is there. */
const BITS_EACH_MIN = 8;
const PROBES = 5;
/** Terms are as good as random, so the halves of one are two hashes. */
const HALF = 2 ** 26;

/**
 * Makes a Bloom filter of terms. It is stored, and changes only by a new version: the probes of a term are its lower half plus
 * multiples of its upper half, made odd.
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

/** Whether a term may be one of those of a filter. Of those it always is. */
export const mayHave = (filter: Uint8Array, term: number): boolean => {
  for (let probe = 0; probe < PROBES; probe += 1) {
    const bit = bitOf(filter, term, probe);
    if (((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
};

const bitOf = (filter: Uint8Array, term: number, probe: number): number =>
  ((term % HALF) + probe * ((Math.floor(term / HALF) % HALF) | 1)) & (8 * filter.length - 1);
