import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { firstIndex } from './first-index.ts';

it('the first index is the same as by a linear search', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), fc.integer({ min: -1, max: 21 }), (numbers, limit) => {
      const sorted = numbers.toSorted((left, right) => left - right);
      const found = sorted.findIndex((number) => number >= limit);
      expect(firstIndex(sorted, (number) => number >= limit)).toBe(found === -1 ? sorted.length : found);
    }),
  );
});
