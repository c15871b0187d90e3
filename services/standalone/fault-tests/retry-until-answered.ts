import { eventually } from '../../../shared/testing/eventually.ts';

/** Longer than any outage, also on a slow machine. */
export const ANSWERS_WITHIN_MS = 300_000;

/** Repeats a request until it is answered, like a client that lost its connection. */
export const retryUntilAnswered = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
  const { answer } = await eventually(
    async () => ({ answer: await ask() }),
    ANSWERS_WITHIN_MS,
    'a client must be answered again',
  );
  return answer;
};
