import { oauthProvider } from '../../../../schemas/http/account/oauth-routes.ts';
import type { LoginMethodModule } from '../login-method.module.ts';
import { LogInWithIdTokenHandler } from './log-in-with-id-token.handler.ts';
import { LogInWithOAuthHandler } from './log-in-with-oauth.handler.ts';
import { LogInWithOAuthHttp } from './log-in-with-oauth.http.ts';
import { IDENTITY_PROVIDERS } from './providers/identity-provider.ts';
import { openIdentityProviders } from './providers/identity-providers.oidc.ts';
import { LoginFailures } from './providers/login-failures.ts';
import { StartOAuthLoginHandler } from './start-oauth-login.handler.ts';

const settingOf = { 'oauth-a': 'OAUTH_A', 'oauth-b': 'OAUTH_B', 'oauth-c': 'OAUTH_C' } as const;

export const oauthLogin: LoginMethodModule = {
  offered: (settings) => oauthProvider.options.filter((name) => settings[settingOf[name]] !== undefined),
  controllers: [LogInWithOAuthHttp],
  open: ({ foundation: { settings, clock, logger }, providerLimits: limits }) => {
    const failures = new LoginFailures(logger);
    return {
      measured: [failures.measured],
      providers: [
        { provide: IDENTITY_PROVIDERS, useValue: openIdentityProviders(settings, { clock, failures, limits }) },
        { provide: LoginFailures, useValue: failures },
        StartOAuthLoginHandler,
        LogInWithOAuthHandler,
        LogInWithIdTokenHandler,
      ],
    };
  },
};
