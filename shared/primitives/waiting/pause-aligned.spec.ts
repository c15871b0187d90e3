import { describe, expect, it } from '@jest/globals';
import { inSimulatedTime } from '../../testing/simulation/simulated-globals.ts';
import { pauseAligned } from './pause-aligned.ts';

describe('a pause until a multiple of an interval', () => {
  it.each([
    [0, 1_000],
    [1, 1_000],
    [499, 1_000],
    [500, 1_000],
    [501, 2_000],
    [999, 2_000],
    [1_000, 2_000],
  ])('that begins at %i ms ends at %i ms', (fromMs, toMs) =>
    inSimulatedTime(async (time) => {
      await time.pause(fromMs);
      await pauseAligned(1_000);
      expect(time.elapsed()).toBe(toMs);
    }),
  );

  it('ends when its signal aborts', () =>
    inSimulatedTime(async (time) => {
      const stop = new AbortController();
      const ended = pauseAligned(1_000, stop.signal);
      await time.pause(10);
      stop.abort();
      await ended;
      expect(time.elapsed()).toBe(10);
    }));
});
