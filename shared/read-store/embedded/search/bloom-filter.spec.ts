import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sha256 } from '../../../primitives/ids.ts';
import { bloomFilter, mayHave } from './bloom-filter.ts';

const term = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));

describe('a Bloom filter', () => {
  it('never misses a term that is there', () => {
    fc.assert(
      fc.property(fc.array(term, { maxLength: 200 }), (terms) => {
        const filter = bloomFilter(new Set(terms));
        expect(terms.filter((one) => !mayHave(filter, one))).toEqual([]);
      }),
    );
  });

  it('takes few others for one that is there', () => {
    const some = Array.from({ length: 20_000 }, (_, at) => Number.parseInt(sha256(String(at)).slice(0, 13), 16));
    const filter = bloomFilter(new Set(some.slice(0, 10_000)));
    expect(filter.length).toBeLessThanOrEqual(20_000);
    expect(some.slice(10_000).filter((one) => mayHave(filter, one)).length).toBeLessThan(300);
  });

  it('is stored in this form', () => {
    expect([...bloomFilter(new Set([3, 2 ** 30 + 5]))]).toEqual([0xf8, 3]);
  });
});
