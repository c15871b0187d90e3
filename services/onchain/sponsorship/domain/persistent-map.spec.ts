import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { frozen } from '../../../../shared/testing/given.ts';
import { PersistentMap } from './persistent-map.ts';

const keyAndValue = fc.tuple(fc.nat({ max: 300 }).map(String), fc.nat());

describe('a persistent map', () => {
  it('holds what a map holds, and what it was before stays as it was', () => {
    fc.assert(
      fc.property(fc.array(keyAndValue, { maxLength: 600, size: 'max' }), (changes) => {
        const expected = new Map<string, number>();
        let map = frozen(PersistentMap.empty<number>());
        for (const [key, value] of changes) {
          const next = frozen(map.with(key, value));
          expect(map.get(key)).toBe(expected.get(key));
          expected.set(key, value);
          map = next;
        }
        for (let key = 0; key <= 301; key += 1) expect(map.get(String(key))).toBe(expected.get(String(key)));
      }),
      { numRuns: 30 },
    );
  });
});
