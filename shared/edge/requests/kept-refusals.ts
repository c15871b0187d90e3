import type { ProblemCode } from '../../../schemas/http/problem.ts';

/**
 * The refusals that are kept for repeats: those that follow from the request alone, and those that used something up.
 * All others depend on stored data, on a chain or on a limit: a retry with the same key succeeds once that allows it.
 */
const KEPT: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'validation_failed',
  'signature_malformed',
  'event_signature_invalid',
  'event_abi_mismatch',
  'oauth_denied',
  'oauth_failed',
  'otp_invalid',
]);

export const isKept = (code: ProblemCode): boolean => KEPT.has(code);
