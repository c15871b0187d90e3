import { oauthProvider, type OAuthProvider } from '../../../../schemas/http/account/oauth-routes.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import type { IdentityProvider, IdentityProviders } from './providers/identity-provider.ts';

/** @throws Refusal provider_not_found, also for one that is not configured */
export const providerOf = (
  providers: IdentityProviders,
  name: string,
): { method: OAuthProvider; provider: IdentityProvider } => {
  const { data: method } = oauthProvider.safeParse(name);
  const provider = method && providers[method];
  if (provider) return { method, provider };
  throw providerNotFound();
};

export const providerNotFound = (): Refusal =>
  new Refusal('provider_not_found', 'this service has no login provider of that name that can do this');
