import { z } from 'zod';
import { hexBytes, uint } from '../values.ts';

/** Every code of an answer, with its HTTP status and title (RFC 9457). */
export const problemCatalogue = {
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  validation_failed: { status: 400, title: 'The request does not fit its schema' },
  signature_malformed: { status: 400, title: 'The signature is not 65 bytes of hex' },
  oauth_denied: { status: 400, title: 'The provider denied the login' },
  oauth_failed: { status: 400, title: 'The provider did not complete the login' },
  cursor_invalid: { status: 400, title: 'The cursor is not one of ours' },
  token_missing: { status: 401, title: 'A bearer token is required' },
  token_invalid: { status: 401, title: 'The token is not valid' },
  token_expired: { status: 401, title: 'The token has expired' },
  session_revoked: { status: 401, title: 'The session has ended' },
  api_key_unknown: { status: 401, title: 'The API key is not known' },
  app_signature_invalid: { status: 401, title: "The signature is not the app's" },
  timestamp_out_of_window: { status: 401, title: 'The timestamp is too far from now' },
  request_replayed: { status: 401, title: 'The signature was used before' },
  wallet_signature_invalid: { status: 401, title: 'The signature fits no open challenge' },
  challenge_unknown: { status: 401, title: 'No challenge is open' },
  refresh_token_invalid: { status: 401, title: 'The refresh token is not valid' },
  refresh_token_reused: { status: 401, title: 'The refresh token was used before' },
  otp_invalid: { status: 401, title: 'The one-time password is not valid' },
  state_unknown: { status: 401, title: 'No login with this state is open' },
  passkey_invalid: { status: 401, title: 'The passkey does not prove this login' },
  bot_signature_invalid: { status: 401, title: "The signature is not the app's" },
  forbidden: { status: 403, title: 'Not allowed' },
  login_too_old: { status: 403, title: 'The login is too old for this' },
  app_revoked: { status: 403, title: 'The app was revoked' },
  user_erased: { status: 403, title: 'The user was erased' },
  origin_not_allowed: { status: 403, title: 'The origin is not allowed' },
  quota_exceeded: { status: 403, title: 'A quota is used up' },
  sponsorship_refused: { status: 403, title: 'The policy of the app does not pay for this' },
  https_required: { status: 403, title: 'Tokens travel over HTTPS only' },
  route_not_found: { status: 404, title: 'No such route' },
  session_not_found: { status: 404, title: 'No such session' },
  provider_not_found: { status: 404, title: 'No such login provider' },
  user_not_found: { status: 404, title: 'No such user' },
  user_op_not_found: { status: 404, title: 'No such user operation' },
  transaction_not_found: { status: 404, title: 'No such transaction' },
  watch_not_found: { status: 404, title: 'The contract event is not registered' },
  identity_not_found: { status: 404, title: 'No such identity of this user' },
  subscription_not_found: { status: 404, title: 'No such subscription' },
  http_method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  identity_taken: { status: 409, title: "The identity is another user's" },
  last_identity: { status: 409, title: 'The last identity cannot be unlinked' },
  account_in_use: { status: 409, title: "One of the user's smart accounts is in use" },
  not_cancellable: { status: 409, title: 'The transaction cannot be cancelled' },
  already_subscribed: { status: 409, title: 'The connection has this subscription' },
  body_too_large: { status: 413, title: 'The body is too large' },
  content_type_not_json: { status: 415, title: 'The body must be application/json' },
  chain_not_supported: { status: 422, title: 'The chain is not supported' },
  event_signature_invalid: { status: 422, title: 'The event signature cannot be read' },
  event_abi_mismatch: { status: 422, title: 'The ABI does not have this event' },
  start_block_in_future: { status: 422, title: 'The start block does not exist yet' },
  deploy_block_unknown: { status: 422, title: 'The block of the deployment cannot be found' },
  insufficient_funds: { status: 422, title: 'The account has too little balance' },
  execution_reverted: { status: 422, title: 'The call would revert' },
  user_op_rejected: { status: 422, title: 'The EntryPoint would refuse the operation' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used with another body' },
  otp_locked: { status: 429, title: 'One-time passwords are locked' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Something went wrong' },
  not_caught_up: { status: 503, title: 'The read model has not reached that position' },
  dependency_unavailable: { status: 503, title: 'A service this one needs does not answer' },
  shutting_down: { status: 503, title: 'The service is stopping' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problemCatalogue;

export const fieldError = z.object({ path: z.string(), message: z.string() });
export type FieldError = z.infer<typeof fieldError>;

/** Members that only some codes have. */
const problemMembers = z.object({
  rule: z.string().describe('of sponsorship_refused and quota_exceeded: the rule that refused').optional(),
  missing: uint.describe('of insufficient_funds: wei').optional(),
  reason: z
    .string()
    .describe("of execution_reverted: why, as text; of user_op_rejected: the EntryPoint's text, which begins with AA")
    .optional(),
  revertData: hexBytes.describe('of execution_reverted').optional(),
  serverTime: z.int().describe('of timestamp_out_of_window: Unix milliseconds').optional(),
  success: z.literal(false).describe('of the gateway, where it validates nobody').optional(),
});
export type ProblemMembers = z.infer<typeof problemMembers>;

export const problem = z.object({
  type: z.string().describe('https://annals.dev/errors/<code>'),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string().describe('the request id'),
  code: z.enum(Object.keys(problemCatalogue) as [ProblemCode, ...ProblemCode[]]),
  errors: z.array(fieldError).optional(),
  retryAfter: z.int().optional().describe('seconds'),
  ...problemMembers.shape,
});
export type Problem = z.infer<typeof problem>;
