import { startStopwatch } from './stopwatch.ts';

/** On a machine that is busy with other specs, work of milliseconds may take this long. */
const PATIENCE_MS = 60_000;

/** The time between two attempts. */
const POLL_MS = 10;

/** Takes the timer of the moment, so that a wait within a simulation passes in simulated time. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

type Given<Answer> = Exclude<Answer, null | undefined | false>;

/**
 * Retries until the answer is neither `undefined`, `null` nor `false`, and returns the answer. Retries once more after the time,
 * which does not count while the machine is busy with other work.
 * @param withinMs minimum time; never less than a minute
 * @param otherwise the sentence of the failure; the last error is its cause
 */
export const eventually = async <Answer>(
  ask: () => Promise<Answer> | Answer,
  withinMs: number,
  otherwise: string,
): Promise<Given<Answer>> => {
  const passedMs = startStopwatch();
  const patienceMs = Math.max(withinMs, PATIENCE_MS);
  let cause: unknown;
  for (;;) {
    const isLast = passedMs() >= patienceMs;
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
    await pause(POLL_MS);
  }
};
