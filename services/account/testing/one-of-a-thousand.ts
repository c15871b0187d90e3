import { expect } from '@jest/globals';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import { atOnce } from '../../../shared/testing/at-once.ts';
import { codeOf } from '../../../shared/testing/http/problem-of-answer.ts';
import type { AccountUnderTest } from './account-under-test.ethers.ts';

/** Expects that of a thousand requests with the same proof one logs in, and that the others are refused with this code. */
export const expectOneLoginOfAThousand = async (
  { foundation: { eventStore } }: AccountUnderTest,
  logIn: () => Promise<Response>,
  refusal: string,
): Promise<void> => {
  const logins = async () => {
    let count = 0;
    for await (const { type } of readEvery(eventStore)) if (type === 'UserLoggedIn') count += 1;
    return count;
  };
  const before = await logins();
  const answers = await atOnce(1_000, logIn);
  // Whoever logs in may be told too late on a slow machine; the store knows it.
  answers.push(await logIn());
  const refused = answers.filter(({ status }) => status !== 201);
  expect(answers.length - refused.length).toBeLessThanOrEqual(1);
  for (const answer of refused) {
    expect([refusal, 'dependency_unavailable']).toContain(await codeOf(answer));
  }
  expect((await logins()) - before).toBe(1);
};
