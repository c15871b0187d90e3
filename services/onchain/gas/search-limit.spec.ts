import fc from 'fast-check';
import { expect, it } from '@jest/globals';
import { searchLimit, searchLimitOnce } from './search-limit.ts';

const from = (least: bigint) => (limits: readonly bigint[]) => Promise.resolve(limits.map((limit) => limit >= least));

it('finds a limit that suffices, near the smallest', () =>
  fc.assert(
    fc.asyncProperty(fc.bigInt(2_000n, 16_000_000n), async (least) => {
      const found = (await searchLimit({ low: 2_000n, high: 16_000_000n }, from(least))) ?? 0n;
      expect(found).toBeGreaterThanOrEqual(least);
      expect(Number(found)).toBeLessThan(Number(least) * 1.04 + 2);
    }),
  ));

it('takes the lowest where it suffices, and nothing where the highest does not', async () => {
  expect(await searchLimit({ low: 5n, high: 50n }, from(5n))).toBe(5n);
  expect(await searchLimit({ low: 5n, high: 50n }, from(51n))).toBeUndefined();
});

it('takes none below one that does not suffice', async () => {
  const suffices = (limit: bigint) => limit < 3_000n || limit >= 900_000n;
  const found = await searchLimit({ low: 2_000n, high: 16_000_000n }, (limits) =>
    Promise.resolve(limits.map(suffices)),
  );
  expect(found).toBeGreaterThanOrEqual(900_000n);
});

it('tries no more than twice what suffices, but for what is tried at once', async () => {
  const tried: bigint[] = [];
  await searchLimit({ low: 2_000n, high: 16_000_000n }, (limits) => {
    tried.push(...limits);
    return Promise.resolve(limits.map((limit) => limit >= 40_000n));
  });
  expect(tried.length).toBeLessThanOrEqual(16);
  expect(Math.max(...tried.map(Number))).toBeLessThanOrEqual(40_000 * 2 * 2 ** 3);
});

it('asks once where that is all it may', async () => {
  let questions = 0;
  const suffices = (limits: readonly bigint[]) => {
    questions += 1;
    return from(40_000n)(limits);
  };
  const found = (await searchLimitOnce({ low: 2_000n, high: 16_000_000n }, suffices)) ?? 0n;
  expect([questions, found >= 40_000n, found <= 1_000_000n]).toEqual([1, true, true]);
  expect(await searchLimitOnce({ low: 5n, high: 50n }, from(51n))).toBeUndefined();
});
