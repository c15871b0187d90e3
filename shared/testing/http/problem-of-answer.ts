import { expect } from '@jest/globals';
import { problem, type Problem } from '../../schemas/http/problem.ts';

/** Returns the problem document of an answer, after checking its form, its status and its request id. */
export const problemOfAnswer = async (answer: Response): Promise<Problem> => {
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const document = problem.parse(await answer.json());
  expect(document.status).toBe(answer.status);
  expect(document.instance).toBe(answer.headers.get('x-request-id'));
  expect(document.type).toBe(`https://annals.dev/errors/${document.code}`);
  if (document.retryAfter !== undefined) expect(answer.headers.get('retry-after')).toBe(String(document.retryAfter));
  return document;
};
