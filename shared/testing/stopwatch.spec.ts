import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { startStopwatch } from './stopwatch.ts';

it('tells no more time than has passed, and on a machine that is always busy still some of it', async () => {
  const startedAt = performance.now();
  const passedMs = startStopwatch();
  await pause(100);
  const told = passedMs();
  expect(told).toBeLessThanOrEqual(performance.now() - startedAt);
  expect(told).toBeGreaterThanOrEqual(25);
});
