import { expect, it } from '@jest/globals';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { Paced } from './paced.ts';

it('runs tasks a few at a time, in order, whether they fail or not', async () => {
  const paced = new Paced(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const results = Promise.allSettled(
    [0, 1, 2, 3, 4].map((task) =>
      paced.run(async () => {
        begun.push(task);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (task === 1) throw new Error('refused');
        return task;
      }),
    ),
  );
  expect(begun).toEqual([0, 1]);
  ends[1]?.();
  while (begun.length < 3) await yieldToEventLoop();
  expect(begun).toEqual([0, 1, 2]);
  for (let end = 0; end < 5; end += 1) {
    while (ends.length <= end) await yieldToEventLoop();
    ends[end]?.();
  }
  expect((await results).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  // Nobody holds a place any more.
  expect(await Promise.all([paced.run(() => Promise.resolve('a')), paced.run(() => Promise.resolve('b'))])).toEqual([
    'a',
    'b',
  ]);
});
