import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { isNext, surplusOf, type CatcherLoad } from './chain-shares.ts';

const CHAINS = [1, 2, 3, 4, 5, 6, 7];
const catcher = (id: string, followed: readonly number[], serves: readonly number[] = CHAINS): CatcherLoad => ({
  id,
  serves,
  followed,
});

describe('a catcher gives away', () => {
  it('nothing while it is alone, or has no more than its share', () => {
    expect(surplusOf(catcher('a', CHAINS), [])).toEqual([]);
    expect(surplusOf(catcher('a', [1, 2]), [catcher('b', [3])])).toEqual([]);
    expect(surplusOf(catcher('a', [1]), [catcher('b', [2, 3])])).toEqual([]);
    expect(surplusOf(catcher('a', [1]), [catcher('b', [])])).toEqual([]);
  });

  it('what is beyond its share to one that joins', () => {
    expect(surplusOf(catcher('a', [1, 2, 3]), [catcher('b', [])])).toEqual([1]);
    expect(surplusOf(catcher('a', [1, 2, 3, 4]), [catcher('b', []), catcher('c', [])])).toEqual([1, 2]);
  });

  it('one chain, if several have as many and one has none', () => {
    const [a, b, c] = [catcher('a', [1, 2]), catcher('b', [3, 4]), catcher('c', [])];
    expect([surplusOf(a, [b, c]), surplusOf(b, [a, c])]).toEqual([[], [3]]);
  });

  it('only what another can follow that has too little', () => {
    expect(surplusOf(catcher('a', [1, 2, 3]), [catcher('b', [], [3])])).toEqual([3]);
    expect(surplusOf(catcher('a', [1, 2, 3]), [catcher('b', [], [9])])).toEqual([]);
    expect(surplusOf(catcher('a', [1, 2, 3, 4]), [catcher('b', [], [9]), catcher('c', [5])])).toEqual([1, 2]);
  });
});

it('whoever follows fewest takes what was given away', () => {
  expect(isNext(catcher('a', [1, 2]), [])).toBe(true);
  expect(isNext(catcher('a', [1, 2]), [catcher('b', [4])])).toBe(false);
  expect(isNext(catcher('a', [1]), [catcher('b', [4]), catcher('c', [5, 6])])).toBe(true);
});

it('shares even out, and then nothing moves any more', () => {
  const holders = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(holders, fc.integer({ min: 1, max: 6 }), (holderOf, count) => {
      const chainIds = holderOf.map((_, at) => at + 1);
      const held = new Map(chainIds.map((chainId, at) => [chainId, (holderOf[at] ?? 0) % count]));
      const catchers = () =>
        Array.from({ length: count }, (_, id) =>
          catcher(
            String(id),
            chainIds.filter((chainId) => held.get(chainId) === id),
            chainIds,
          ),
        );
      const others = (own: CatcherLoad) => catchers().filter(({ id }) => id !== own.id);
      const given = () => catchers().flatMap((own) => surplusOf(own, others(own)));
      for (let round = 0; given().length > 0; round += 1) {
        expect(round).toBeLessThan(3);
        // All catchers give chains away at once, by what they knew. Then each chain is taken by a catcher whose turn it
        // is.
        const free = given();
        for (const chainId of free) held.delete(chainId);
        for (const chainId of free) {
          const taker = catchers().find((own) => isNext(own, others(own)));
          expect(taker).toBeDefined();
          held.set(chainId, Number(taker?.id));
        }
      }
      const counts = catchers().map(({ followed }) => followed.length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }),
  );
});
