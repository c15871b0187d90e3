import type { OAuthProviderSettings } from '../../../../../shared/config/oauth-settings.ts';
import type { Settings } from '../../../../../shared/config/settings.ts';
import type { Clock } from '../../../../../shared/primitives/clock.ts';
import type { OAuthProvider } from '../../../../../schemas/http/account/oauth-routes.ts';
import type { IdentityProvider, IdentityProviders, ProviderLimits } from './identity-provider.ts';
import type { LoginFailures } from './login-failures.ts';
import { OpenIdProvider } from './openid-provider.oidc.ts';
import { PlainProvider } from './plain-provider.oidc.ts';

export const PROVIDER_LIMITS: ProviderLimits = { requestMs: 3_000, answerMs: 4_000, userInfoMs: 1_500 };

/** Makes the providers that are configured. None is asked anything yet. */
export const openIdentityProviders = (
  { OAUTH_A, OAUTH_B, OAUTH_C, NODE_ENV }: Pick<Settings, 'OAUTH_A' | 'OAUTH_B' | 'OAUTH_C' | 'NODE_ENV'>,
  {
    clock,
    failures,
    limits = PROVIDER_LIMITS,
  }: { clock: Clock; failures: LoginFailures; limits: ProviderLimits | undefined },
): IdentityProviders => {
  const open = (name: OAuthProvider, settings: OAuthProviderSettings): IdentityProvider => {
    const options = { name, clock, failures, limits, allowLocalHttp: NODE_ENV !== 'production' };
    return 'authorizationEndpoint' in settings
      ? new PlainProvider(settings, options)
      : new OpenIdProvider(settings, options);
  };
  return {
    ...(OAUTH_A && { 'oauth-a': open('oauth-a', OAUTH_A) }),
    ...(OAUTH_B && { 'oauth-b': open('oauth-b', OAUTH_B) }),
    ...(OAUTH_C && { 'oauth-c': open('oauth-c', OAUTH_C) }),
  };
};
