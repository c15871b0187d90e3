import { expect, it } from '@jest/globals';
import { inSimulatedTime } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { throttled } from './throttled.ts';

it('is at work for 4 % of the time, however long each step takes', async () => {
  let [now, worked] = [0, 0];
  const rest = (timeMs: number): Promise<void> => {
    now += timeMs;
    return Promise.resolve();
  };
  const throttle = throttled(new AbortController().signal, { now: () => now, rest });
  for (const tookMs of [1, 20, 0, 300]) {
    const step = () => {
      now += tookMs;
      worked += tookMs;
      return Promise.resolve(tookMs);
    };
    expect(await throttle(step)).toBe(tookMs);
    expect(worked / now || 0).toBeCloseTo(tookMs === 0 && worked === 0 ? 0 : 0.04);
  }
});

it('ends at once when it is told to, in the middle of a step and of a rest', () =>
  inSimulatedTime(async (time) => {
    const [ending, reason] = [new AbortController(), new Error('the projector stops')];
    const throttle = throttled(ending.signal);
    const resting = throttle(() => time.pause(50));
    const waiting = throttle(() => new Promise<never>(() => undefined));
    const ended = [expect(waiting).rejects.toBe(reason), expect(resting).rejects.toBe(reason)];
    await time.pause(100);
    ending.abort(reason);
    await Promise.all(ended);
    expect(time.elapsed()).toBe(100);
  }));
