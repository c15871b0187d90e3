import type { ProfileChanges } from '../../../../../schemas/events/account/user-events.ts';
import type { OAuthProvider } from '../../../../../schemas/http/account/oauth-routes.ts';

/** What only this service knows of a login that it sent to a provider. */
export interface LoginSecrets {
  /** Of PKCE: whoever has the code cannot exchange it without. */
  verifier: string;
  /** In the id token: one that was given for another login is refused. */
  nonce: string;
}

/** A login that a provider sends back. */
export interface ReturnedLogin extends LoginSecrets {
  code: string;
  redirectUri: string;
  /** The issuer that the redirect named, if it named one. */
  iss: string | undefined;
}

/** Who somebody is at a provider. */
export interface ProviderIdentity {
  issuer: string;
  /** Names the person at the issuer, and never anybody else. */
  subject: string;
  /** How the person knows it: an address, or a name. */
  label: string;
  /** What the provider says of the person, made to fit: it fills members of the profile that are empty. */
  profile: ProfileChanges;
}

/** What a provider signed for one of its own libraries in an app. */
export interface IdToken {
  idToken: string;
  /** What the app gave the library: the token has it as it is, or its SHA-256. */
  nonce: string | undefined;
}

/** How long a provider may take. */
export interface ProviderLimits {
  /** For one request. */
  requestMs: number;
  /** For all that one answer of ours needs. */
  answerMs: number;
  /** For what only fills the profile and labels the identity. */
  userInfoMs: number;
}

/** Another site, at which people are known. It reports its failures itself. */
export interface IdentityProvider {
  /** Returns where a browser goes to log in. @throws Refusal dependency_unavailable */
  loginUrl(login: LoginSecrets & { state: string; redirectUri: string }): Promise<string>;
  /**
   * Exchanges a code, within 4 s. A code can be exchanged once.
   * @throws Refusal oauth_failed; dependency_unavailable if the provider does not answer
   */
  identify(login: ReturnedLogin): Promise<ProviderIdentity>;
  /**
   * Verifies an id token; whether it was used before is not known here. Only OpenID Connect issuers sign any.
   * @throws Refusal oauth_failed; dependency_unavailable if the provider does not answer
   */
  verify?(token: IdToken): Promise<{ person: ProviderIdentity; expiresAt: number }>;
}

/** Those that are configured. */
export type IdentityProviders = Readonly<Partial<Record<OAuthProvider, IdentityProvider>>>;
export const IDENTITY_PROVIDERS = Symbol('IdentityProviders');
