/** The codes with which token endpoints answer: those of RFC 6749, and of the usual providers. */
const CODES = [
  ...(['bad_verification_code', 'expired_token', 'incorrect_client_credentials', 'invalid_client'] as const),
  ...(['invalid_grant', 'invalid_request', 'invalid_scope', 'redirect_uri_mismatch', 'server_error'] as const),
  ...(['temporarily_unavailable', 'unauthorized_client', 'unsupported_grant_type'] as const),
] as const;
/** The form of every code that a provider answers; anybody can put other text in its place. */
const CODE = /^[\w.:-]{1,64}$/;

/** Why a login at a provider failed. A label of a metric, so there are only so many. */
export type FailureReason =
  | (typeof CODES)[number]
  /** A code that is not in the list. */
  | 'other_code'
  /** The person or the provider refused, as the browser says that comes back. Whoever starts a login can say so. */
  | 'denied'
  /** No answer in time, or one that says: not now. */
  | 'away'
  | 'answer_refused'
  | 'address_refused'
  | 'issuer_refused'
  | 'id_token_refused'
  | 'subject_refused'
  | 'user_info_refused'
  /** A fault of this service. */
  | 'unexpected';

export interface ProviderFailure {
  reason: FailureReason;
  /** For the caller: the provider's code, or a sentence of ours; never other text of the provider. */
  said: string;
  /** For the log alone: what a library said of it, which quotes nothing. */
  detail?: string;
}

/** Something that a provider answered is not accepted. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  constructor(
    readonly reason: FailureReason,
    /** Shown to callers. */
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The failure that a provider gave a code for. */
export const failureByCode = (code: string): ProviderFailure => ({
  reason: CODES.find((known) => known === code) ?? 'other_code',
  said: CODE.test(code) ? code : 'no code',
});
