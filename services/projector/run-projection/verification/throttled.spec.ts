import { expect, it } from '@jest/globals';
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

it('ends at once when it is told to, in the middle of a step and of a rest', async () => {
  const [ending, reason] = [new AbortController(), new Error('the projector stops')];
  const throttle = throttled(ending.signal);
  const never = new Promise<never>(() => undefined);
  const resting = throttle(async () => {
    const until = performance.now() + 50;
    while (performance.now() < until) await Promise.resolve();
  });
  const waiting = throttle(() => never);
  ending.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(resting).rejects.toBe(reason);
});
