import { setTimeout as pause } from 'node:timers/promises';
import { startStopwatch } from './stopwatch.ts';

/** On a machine that is busy with other specs, work of milliseconds may take this long. */
const PATIENCE_MS = 60_000;

type Given<Answer> = Exclude<Answer, null | undefined | false>;

/**
 * Retries until the answer is neither `undefined`, `null` nor `false`, and returns it. Retries once more after the
 * time.
 * @param withinMs minimum time; if the time is itself a promise, use `within`
 * @param otherwise the sentence of the failure; the last error is its cause
 */
export const eventually = <Answer>(
  ask: () => Promise<Answer> | Answer,
  withinMs: number,
  otherwise: string,
): Promise<Given<Answer>> => within(ask, Math.max(withinMs, PATIENCE_MS), otherwise);

/**
 * Like `eventually`, for a promise with a time limit, which does not count while the machine is busy with other work.
 */
export const within = async <Answer>(
  ask: () => Promise<Answer> | Answer,
  withinMs: number,
  otherwise: string,
): Promise<Given<Answer>> => {
  const passedMs = startStopwatch();
  let cause: unknown;
  for (;;) {
    const isLast = passedMs() >= withinMs;
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) {
        return answer as Given<Answer>;
      }
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (isLast) throw new Error(otherwise, { cause });
    await pause(10);
  }
};
