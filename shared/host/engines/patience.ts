import type { Logger } from 'pino';
import { DoesNotAnswer } from '../../errors/cannot-start.ts';
import { Refusal } from '../../errors/refusal.ts';
import { pause } from '../../primitives/waiting/pause.ts';

const RETRY_MS = 500;
const SAY_EVERY_MS = 10_000;

export interface Patience {
  /** How long an attempt is repeated. 0: not at all. */
  patienceMs: number;
  logger: Logger;
  /** Ends the repetitions. */
  signal?: AbortSignal;
}

/**
 * Repeats an attempt whose server does not answer: the server may be starting or overloaded. Logs the reason at the first
 * failure, and then every 10 s.
 * @throws the error of the last attempt
 */
export const patiently = async <Answer>(
  attempt: () => Promise<Answer>,
  { patienceMs, logger, signal }: Patience,
): Promise<Answer> => {
  const giveUpAt = performance.now() + patienceMs;
  let sayAt = 0;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const now = performance.now();
      const leftMs = giveUpAt - now;
      if (!isUnanswered(error) || leftMs <= 0 || signal?.aborted) throw error;
      if (now >= sayAt) {
        sayAt = now + SAY_EVERY_MS;
        const reason = error instanceof Refusal ? error.detail : error.message;
        logger.warn(`${reason}; the start waits for an answer for another ${String(Math.ceil(leftMs / 1_000))} s`);
      }
      await pause(RETRY_MS, signal);
    }
  }
};

const isUnanswered = (error: unknown): error is DoesNotAnswer | Refusal =>
  error instanceof DoesNotAnswer || (error instanceof Refusal && error.code === 'dependency_unavailable');
