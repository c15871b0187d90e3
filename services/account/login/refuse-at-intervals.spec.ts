import { describe, expect, it } from '@jest/globals';
import { refuseAtIntervals } from './refuse-at-intervals.ts';

describe('work that is refused at intervals', () => {
  it('is refused at a multiple of the interval since it began, however soon it failed', async () => {
    const began = performance.now();
    const works = [() => Promise.reject(new Error('no')), () => slowly().then(() => Promise.reject(new Error('no')))];
    for (const work of works) await expect(refuseAtIntervals(40, work)).rejects.toThrow('no');
    // A timer may be early by the rest of a millisecond.
    expect(performance.now() - began).toBeGreaterThanOrEqual(40 + 80 - 4);
  });

  it('is answered at once when it succeeds', async () => {
    expect(await refuseAtIntervals(1_000_000, () => Promise.resolve('yes'))).toBe('yes');
  });
});

/** Longer than the interval. */
const slowly = () => new Promise((resolve) => setTimeout(resolve, 50));
