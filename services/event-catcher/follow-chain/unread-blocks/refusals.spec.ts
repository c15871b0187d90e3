import { describe, expect, it } from '@jest/globals';
import { BlocksRefused, ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import { countRefusal, isRefusedLongEnough, type Refusals } from './refusals.ts';

const refusal = (byAll: boolean) =>
  new BlocksRefused('refused', { reason: 'provider 1: refused', isPrunedEverywhere: byAll });
/** After failures of one block, one each minute. */
const after = (...errors: Error[]): Refusals | undefined =>
  errors.reduce<Refusals | undefined>(
    (known, error, minute) => countRefusal(known, { error, block: 7, nowMs: minute * 60_000 }),
    undefined,
  );
const times = (count: number, error: Error): Error[] => Array.from({ length: count }, () => error);

describe('a block that is refused', () => {
  it('holds up nothing any more once all providers have said three times that they do not have it', () => {
    for (const [count, holdsUp] of [
      [2, true],
      [3, false],
    ] as const) {
      const counted = after(...times(count, refusal(true)));
      expect(counted && isRefusedLongEnough(counted, refusal(true), 0)).toBe(!holdsUp);
    }
  });

  it('in other words, or not by all, does so twelve times at least, and for ten minutes', () => {
    const counted = after(...times(12, refusal(false)));
    if (!counted) throw new Error('it is a refusal');
    expect(counted).toEqual({ block: 7, times: 12, sinceMs: 0 });
    expect(isRefusedLongEnough(counted, refusal(false), 599_999)).toBe(false);
    expect(isRefusedLongEnough(counted, refusal(false), 600_000)).toBe(true);
    expect(isRefusedLongEnough({ ...counted, times: 11 }, refusal(false), 600_000)).toBe(false);
  });

  it('is counted anew after a failure that was none, and for another block', () => {
    const failed = new ChainUnavailable('connect ECONNREFUSED');
    expect(after(refusal(true), refusal(true), failed)).toBeUndefined();
    expect(after(refusal(true), failed, refusal(true))).toMatchObject({ times: 1 });
    const other = countRefusal(after(...times(5, refusal(true))), { error: refusal(true), block: 8, nowMs: 9 });
    expect(other).toEqual({ block: 8, times: 1, sinceMs: 9 });
  });
});
