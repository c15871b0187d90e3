import type { FieldError, ProblemCode, ProblemMembers } from '../../schemas/http/problem.ts';

interface RefusalDetails {
  errors?: FieldError[];
  /** Seconds after which the same request may succeed. */
  retryAfter?: number;
  /** Further members of the answer for this code. */
  members?: ProblemMembers;
  cause?: unknown;
}

/** A documented refusal, made by the domain or the edge. Each protocol maps the code to an answer of its own. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly errors: FieldError[] | undefined;
  readonly retryAfter: number | undefined;
  readonly members: ProblemMembers;

  constructor(
    readonly code: ProblemCode,
    /** What was wrong with this request. Shown to the caller. */
    readonly detail: string,
    details: RefusalDetails = {},
  ) {
    super(`${code}: ${detail}`, { cause: details.cause });
    this.errors = details.errors;
    this.retryAfter = details.retryAfter;
    this.members = details.members ?? {};
  }
}

/** Refuses a request that does not match its schema; names the members at fault. */
export const invalid = (...errors: FieldError[]): Refusal =>
  new Refusal('validation_failed', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), { errors });

/** Refuses a signed time that is too far from now. Tells the server's time, so that a client can correct its clock. */
export const outOfWindow = (detail: string, nowMs: number, members: ProblemMembers = {}): Refusal =>
  new Refusal('timestamp_out_of_window', detail, { members: { ...members, serverTime: nowMs } });

/** Refuses because a dependency does not answer or cannot. The same request may succeed in a second. */
export const unavailable = (detail: string, cause: unknown): Refusal =>
  new Refusal('dependency_unavailable', detail, { retryAfter: 1, cause });
