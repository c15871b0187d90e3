import type { FieldError, ProblemCode } from '../../schemas/http/problem.ts';

interface RefusalDetails {
  errors?: FieldError[];
  /** Seconds after which the same request may succeed. */
  retryAfter?: number;
  cause?: unknown;
}

/** A documented "no", made by the domain or an edge; each way in turns its code into an answer of its own protocol. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly errors: FieldError[] | undefined;
  readonly retryAfter: number | undefined;

  constructor(
    readonly code: ProblemCode,
    /** Says what was wrong with this request; shown to the caller. */
    readonly detail: string,
    details: RefusalDetails = {},
  ) {
    super(`${code}: ${detail}`, { cause: details.cause });
    this.errors = details.errors;
    this.retryAfter = details.retryAfter;
  }
}

/** A request that does not fit; names the members at fault. */
export const invalid = (...errors: FieldError[]): Refusal =>
  new Refusal('validation_failed', errors.map(({ path, message }) => `${path}: ${message}`).join('; '), { errors });

/** What this depends on does not answer, or cannot: the same is worth another try in a second. */
export const unavailable = (detail: string, cause: unknown): Refusal =>
  new Refusal('dependency_unavailable', detail, { retryAfter: 1, cause });
