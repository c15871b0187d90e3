import { setTimeout as pause } from 'node:timers/promises';
import { startStopwatch } from './stopwatch.ts';

/** On a machine that is busy with other specs, what takes milliseconds may take so long. */
const PATIENCE_MS = 30_000;

type Given<Answer> = Exclude<Answer, null | undefined | false>;

/**
 * Retries until the answer is neither `undefined`, `null` nor `false`, and returns it. It retries once more after the
 * time.
 * @param withinMs how long at least: what must be as quick as that is asked of `within`
 * @param otherwise the sentence of the failure; the last error is its cause
 */
export const eventually = <Answer>(
  ask: () => Promise<Answer> | Answer,
  withinMs: number,
  otherwise: string,
): Promise<Given<Answer>> => within(ask, Math.max(withinMs, PATIENCE_MS), otherwise);

/** Does the same, for what is promised within a time, which does not pass while the machine is busy with other work. */
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
