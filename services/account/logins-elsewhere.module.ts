import type { ModuleMetadata } from '@nestjs/common';
import type { Foundation } from '../../shared/host/foundation.ts';
import { openIdentityProviders } from './edge/identity-provider.oidc.ts';
import { IDENTITY_PROVIDERS } from './edge/identity-provider.ts';
import { LoginStates } from './edge/login-states.ts';
import { LogInWithOAuthHandler } from './log-in-with-oauth/log-in-with-oauth.handler.ts';
import { LogInWithOAuthHttp } from './log-in-with-oauth/log-in-with-oauth.http.ts';
import { StartOAuthLoginHandler } from './log-in-with-oauth/start-oauth-login.handler.ts';

/** The logins that go through another site. */
export const loginsElsewhere = ({ settings, clock }: Foundation) =>
  ({
    controllers: [LogInWithOAuthHttp],
    providers: [
      { provide: IDENTITY_PROVIDERS, useValue: openIdentityProviders(settings, clock) },
      LoginStates,
      StartOAuthLoginHandler,
      LogInWithOAuthHandler,
    ],
  }) satisfies ModuleMetadata;
