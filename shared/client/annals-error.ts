import { problemStatus, type Problem, type ProblemCode, type StreamMessages } from './routes.ts';

/** Reasons that no service gives: no answer, none that is of the interface, no session, and changes that are not kept. */
type OwnCode = 'network_error' | 'unexpected_answer' | 'not_signed_in' | 'gap';
/** A newer service may give a reason that is not listed. */
export type AnnalsErrorCode = ProblemCode | OwnCode | (string & Record<never, never>);

interface AnnalsErrorDetails {
  /** Of the answer; 0 where there was none. */
  status?: number | undefined;
  /** Seconds. */
  retryAfter?: number | undefined;
  /** The whole document, where a service answered one. */
  problem?: Problem | undefined;
  /** With `gap`: what is not kept, and from which block to begin anew. */
  gap?: StreamMessages['gap'] | undefined;
  cause?: unknown;
}

/** Why a request or a subscription failed. */
export class AnnalsError extends Error {
  override readonly name = 'AnnalsError';
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly problem: Problem | undefined;
  readonly gap: StreamMessages['gap'] | undefined;

  constructor(
    readonly code: AnnalsErrorCode,
    detail: string,
    { status, retryAfter, problem, gap, cause }: AnnalsErrorDetails = {},
  ) {
    super(`${code}: ${detail}`, cause === undefined ? undefined : { cause });
    this.status = status ?? problemStatus[code] ?? 0;
    this.retryAfter = retryAfter;
    this.problem = problem;
    this.gap = gap;
  }
}

/** Those of a 401 that another token, another time or another signature mends. */
const MENDED = ['token_missing', 'token_invalid', 'token_expired', 'timestamp_out_of_window', 'request_replayed'];
const CLIENT_ERROR = 400;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERROR = 500;

/**
 * Whether a repeat may succeed, later or with another token. `false` for an ended session and for what is forbidden, not found or
 * not valid. What is no refusal of a service, such as a failure of the caller's storage, may pass.
 */
export const canPass = (error: unknown): boolean => {
  if (!(error instanceof AnnalsError)) return true;
  const { code, status } = error;
  if (code === 'not_signed_in' || code === 'gap') return false;
  // Whatever stands before the service says nothing about the request.
  if (code === 'unexpected_answer') return true;
  if (status === UNAUTHORIZED) return MENDED.includes(code);
  return status < CLIENT_ERROR || status === TOO_MANY_REQUESTS || status >= SERVER_ERROR;
};

/** Whether a refreshing client was told that its session has ended. */
export const endsSession = (error: unknown): boolean =>
  error instanceof AnnalsError &&
  !canPass(error) &&
  (error.status === UNAUTHORIZED || error.status === FORBIDDEN) &&
  error.code !== 'https_required';

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Reads the refusal that a problem document, an acknowledgement or `connect_error.data` has; `undefined` for anything else. */
export const readRefusal = (given: unknown): AnnalsError | undefined => {
  if (typeof given !== 'object' || given === null) return undefined;
  const { code, detail, title, status, retryAfter } = given as Record<string, unknown>;
  if (typeof code !== 'string') return undefined;
  return new AnnalsError(code, textOf(detail) ?? textOf(title) ?? 'refused', {
    status: numberOf(status),
    retryAfter: numberOf(retryAfter),
    ...(numberOf(status) !== undefined && { problem: given as Problem }),
  });
};

/** The service names seconds before which a repeat is of no use. */
export const pauseMs = (backoffMs: number, error: unknown): number =>
  Math.max(backoffMs, error instanceof AnnalsError ? (error.retryAfter ?? 0) * 1_000 : 0);

export const errorOf = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
