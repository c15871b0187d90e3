import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PUBLISHED_FIRST_MS, publishedKeysAt, signingKeyAt } from './signing-schedule.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const WEEK = 7 * 86_400_000;
const HOUR = 3_600_000;
const keyAt = (createdAt: number) => ({ createdAt });

describe('the keys that sign tokens', () => {
  const [first, second] = [keyAt(NOON), keyAt(NOON + WEEK)];

  it('sign at once if there is only one', () => {
    expect(signingKeyAt([first], NOON)).toBe(first);
    expect(signingKeyAt([first], NOON - HOUR)).toBe(first);
  });

  it('are never none', () => {
    expect(() => signingKeyAt([], NOON)).toThrow('there is no signing key');
  });

  it('are published two minutes before they sign', () => {
    const keys = [first, second];
    const from = second.createdAt + PUBLISHED_FIRST_MS;
    expect(PUBLISHED_FIRST_MS).toBe(120_000);
    expect(publishedKeysAt(keys, second.createdAt)).toEqual(keys);
    expect(signingKeyAt(keys, from - 1)).toBe(first);
    expect(signingKeyAt(keys, from)).toBe(second);
  });

  it('stay published until the last token that they signed has expired, and an hour', () => {
    const keys = [first, second];
    const until = second.createdAt + PUBLISHED_FIRST_MS + WEEK + HOUR;
    expect(publishedKeysAt(keys, until - 1)).toEqual(keys);
    expect(publishedKeysAt(keys, until)).toEqual([second]);
  });

  it('verify every token for as long as it lives, however often they are rotated', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(2 * WEEK), { minLength: 1 }),
        fc.nat(20 * WEEK),
        fc.nat(WEEK),
        (ages, issued, age) => {
          const keys = ages.sort((left, right) => left - right).map((at) => keyAt(NOON + at));
          const signer = signingKeyAt(keys, NOON + issued);
          expect(publishedKeysAt(keys, NOON + issued + age)).toContain(signer);
        },
      ),
    );
  });
});
