import { describe, expect, it } from '@jest/globals';
import { stalledAfterMs, stalledText } from './stalled-head.ts';

const MINUTE_MS = 60_000;
const windowOf = (...timestamps: number[]) => {
  const [first = 0, ...rest] = timestamps;
  const block = (timestamp: number, number: number) => ({
    ...{ number, hash: String(number), parentHash: String(number - 1) },
    timestamp,
  });
  return [block(first, 0), ...rest.map((timestamp, at) => block(timestamp, at + 1))] as const;
};

describe('a chain without new blocks', () => {
  it('is still after five minutes where blocks are seconds apart, or only one is known', () => {
    expect(stalledAfterMs(windowOf(0, 12, 24, 36, 48))).toBe(5 * MINUTE_MS);
    expect(stalledAfterMs(windowOf(7))).toBe(5 * MINUTE_MS);
  });

  it('is still after many of its intervals where they are long', () => {
    expect(stalledAfterMs(windowOf(0, 600, 1_200, 1_800))).toBe(250 * MINUTE_MS);
  });

  it('has blocks when somebody wants them where they come irregularly', () => {
    expect(stalledAfterMs(windowOf(0, 0, 1, 1, 1, 1_801, 1_801, 1_801, 1_802, 1_802))).toBe(150 * MINUTE_MS);
  });

  it('is said in minutes', () => {
    expect(stalledText(7.9 * MINUTE_MS)).toBe('there has been no new block for 7 minutes');
  });
});
