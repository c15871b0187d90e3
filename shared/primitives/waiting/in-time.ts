import { withinDeadline } from './within-deadline.ts';

/** Returns the answer if it arrives within `withinMs`; `undefined` when it does not, or when the call fails. */
export const inTime = async <Answer>(
  ask: () => Answer | Promise<Answer>,
  withinMs: number,
): Promise<Answer | undefined> => {
  try {
    return await withinDeadline('a call', withinMs, Promise.resolve(ask()));
  } catch {
    return undefined;
  }
};
