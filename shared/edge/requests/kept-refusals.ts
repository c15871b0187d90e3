import type { ProblemCode } from '../../schemas/http/problem.ts';

/**
 * The refusals that are kept for repeats: those that follow from the request alone, and those of which something was used up.
 * All others depend on what is stored, on a chain or on a limit: the same key succeeds once that allows it.
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
