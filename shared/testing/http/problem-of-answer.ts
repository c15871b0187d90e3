import { expect } from '@jest/globals';
import { problem, type Problem } from '../../../schemas/http/problem.ts';

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

/** The code of an answer that must be a problem. */
export const codeOf = async (answer: Response | Promise<Response>): Promise<Problem['code']> =>
  (await problemOfAnswer(await answer)).code;

/** The code of a problem, or the status of another answer. */
export const codeOrStatus = async (answer: Response): Promise<Problem['code'] | number> =>
  answer.ok ? answer.status : codeOf(answer);
