import { z } from 'zod';
import { problemCatalogue, type ProblemCode } from '../../schemas/http/problem.ts';
import { safeParse } from '../primitives/safe-parse.ts';

/** A connection, a command or a subscription was refused; `code` is one of the interface's. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';
  constructor(
    readonly code: string,
    detail: string,
    /** Seconds. */
    readonly retryAfter?: number,
  ) {
    super(`${code}: ${detail}`);
  }
}

/** A service that is newer may give codes that are not known here. */
const refused = z.object({ code: z.string(), detail: z.string().default(''), retryAfter: z.number().optional() });

/** Reads the refusal that the service gave; `undefined` for anything else. */
export const readRefusal = (given: unknown): StreamRefused | undefined => {
  const parsed = safeParse(refused, given);
  return parsed.success ? new StreamRefused(parsed.data.code, parsed.data.detail, parsed.data.retryAfter) : undefined;
};

/**
 * Whether what failed may succeed later, or with another token: anything but a refusal because the session was revoked, or
 * because what was asked for is forbidden, not there or not valid.
 */
export const canPass = (reason: Error): boolean => {
  if (!(reason instanceof StreamRefused) || !isKnown(reason.code)) return true;
  const { status } = problemCatalogue[reason.code];
  return reason.code !== 'session_revoked' && (status === 401 || status === 429 || status >= 500);
};

const isKnown = (code: string): code is ProblemCode => Object.hasOwn(problemCatalogue, code);
