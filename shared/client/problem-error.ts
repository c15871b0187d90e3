import { problem, type Problem, type ProblemCode } from '../../schemas/http/problem.ts';
import { safeParse } from '../primitives/safe-parse.ts';

/** A request was refused: `code` is the reason, `problem` the whole document. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly code: ProblemCode;

  constructor(readonly problem: Problem) {
    super(`${problem.code}: ${problem.detail}`);
    this.code = problem.code;
  }
}

/** @throws ProblemError; for an answer that is not a problem document, an error with the status */
export const refuseProblem = async (answer: Response): Promise<void> => {
  if (answer.ok) return;
  const parsed = safeParse(problem, await answer.json().catch(() => undefined));
  throw parsed.success ? new ProblemError(parsed.data) : new Error(`${answer.url} answered ${String(answer.status)}`);
};
