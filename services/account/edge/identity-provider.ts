import type { OAuthProvider } from '../../../schemas/http/oauth-routes.ts';

/** What only this service knows of a login that it sent to a provider. */
export interface LoginSecrets {
  /** Of PKCE: whoever has the code cannot exchange it without. */
  verifier: string;
  /** In the id token: one that was given for another login is refused. */
  nonce: string;
}

/** Who somebody is at a provider. */
export interface ProviderIdentity {
  issuer: string;
  /** Names the person at the issuer, and never anybody else. */
  subject: string;
  /** How the person knows it: an address, or a name. */
  label: string;
}

/** Another site, at which people are known. */
export interface IdentityProvider {
  /** Returns where a browser goes to log in. @throws Refusal dependency_unavailable */
  loginUrl(login: LoginSecrets & { state: string; redirectUri: string }): Promise<string>;
  /**
   * Exchanges a code, within 4 s. A code can be exchanged once.
   * @param iss the issuer that the redirect named, if it named one
   * @throws Refusal oauth_failed; dependency_unavailable if the provider does not answer
   */
  identify(
    login: LoginSecrets & { code: string; redirectUri: string; iss: string | undefined },
  ): Promise<ProviderIdentity>;
}

/** Those that are configured. */
export type IdentityProviders = Readonly<Partial<Record<OAuthProvider, IdentityProvider>>>;
export const IDENTITY_PROVIDERS = Symbol('IdentityProviders');
