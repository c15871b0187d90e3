import { setTimeout as pause } from 'node:timers/promises';
import { jest } from '@jest/globals';

const GOING_ON = [
  'Date',
  'hrtime',
  'nextTick',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
] as const;

/**
 * Stops `setTimeout` and `performance.now` until the spec moves them with `jest.advanceTimersByTime`, or ends them with
 * `jest.useRealTimers`. Sockets and the clock go on.
 */
export const freezeTimers = (): void => {
  jest.useFakeTimers({ doNotFake: [...GOING_ON] });
};

/** Stops `performance.now` alone: what waits for a time waits as long as it takes. Ended with `jest.useRealTimers`. */
export const freezePerformance = (): void => {
  jest.useFakeTimers({ doNotFake: [...GOING_ON, 'setTimeout', 'clearTimeout'] });
};

/** In the time of `process.hrtime`, which is not frozen. */
const PATIENCE_NS = 60_000_000_000n;

/** Like `eventually`, whose timer would be frozen. @throws if the condition does not hold within a minute */
export const untilTrue = async (holds: () => boolean): Promise<void> => {
  const giveUpAt = process.hrtime.bigint() + PATIENCE_NS;
  while (!holds()) {
    if (process.hrtime.bigint() > giveUpAt) throw new Error(`this must become true: ${holds.toString()}`);
    await pause(1);
  }
};
