import { setTimeout as pause } from 'node:timers/promises';

/**
 * Retries until the answer is neither `undefined`, `null` nor `false`, and returns it. It retries once more after the
 * time.
 * @param otherwise the sentence of the failure after `withinMs`; the last error is its cause
 */
export const eventually = async <Answer>(
  ask: () => Promise<Answer> | Answer,
  withinMs: number,
  otherwise: string,
): Promise<Exclude<Answer, null | undefined | false>> => {
  const deadline = performance.now() + withinMs;
  let cause: unknown;
  for (;;) {
    const isLast = performance.now() >= deadline;
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) {
        return answer as Exclude<Answer, null | undefined | false>;
      }
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (isLast) throw new Error(otherwise, { cause });
    await pause(10);
  }
};
