import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { refuseAtIntervals } from './refuse-at-intervals.ts';

describe('work that is refused at intervals', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is refused at a multiple of the interval since it began, however soon it failed', async () => {
    const refusedAt: [name: string, atMs: number][] = [];
    for (const [name, lastsMs] of [
      ['soon', 0],
      ['late', 50],
    ] as const) {
      const work = () => pause(lastsMs).then(() => Promise.reject(new Error('no')));
      refuseAtIntervals(40, work).catch(() => refusedAt.push([name, performance.now() - began]));
    }
    const began = performance.now();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(refusedAt).toEqual([
      ['soon', 40],
      ['late', 80],
    ]);
  });

  it('is answered at once when it succeeds', async () => {
    expect(await refuseAtIntervals(1_000_000, () => Promise.resolve('yes'))).toBe('yes');
  });
});
