import { withinDeadline } from './within-deadline.ts';

/** What is answered within `withinMs`; `undefined` when nothing is, or an error. */
export const inTime = async <Answer>(
  ask: () => Answer | Promise<Answer>,
  withinMs: number,
): Promise<Answer | undefined> => {
  try {
    return await withinDeadline('what was asked', withinMs, Promise.resolve(ask()));
  } catch {
    return undefined;
  }
};
