import { expect, it } from '@jest/globals';
import { setImmediate as nextTick } from 'node:timers/promises';
import { OnePerTick } from './one-per-tick.ts';

it('callers go on in the order in which they came, one in each tick of the event loop', async () => {
  const pieces = new OnePerTick();
  const done: string[] = [];
  const work = async (name: string, count: number) => {
    for (let at = 1; at <= count; at += 1) {
      await pieces.next();
      done.push(`${name}${String(at)}`);
    }
  };
  const all = Promise.all([work('a', 3), work('b', 1), work('c', 2)]);
  const afterEachTick: number[] = [];
  while (done.length < 6) {
    await nextTick();
    afterEachTick.push(done.length);
  }
  await all;
  expect(done).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  expect(Math.max(...afterEachTick.map((count, at) => count - (afterEachTick[at - 1] ?? 0)))).toBe(1);
  await pieces.next();
});
