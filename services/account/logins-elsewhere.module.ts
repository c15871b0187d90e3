import type { ModuleMetadata } from '@nestjs/common';
import type { Foundation, WithKeyVault } from '../../shared/host/foundation.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import { BotCodes } from './edge/bot-codes.ts';
import { IdentityIds } from './edge/identity-ids.ts';
import { openIdentityProviders } from './log-in-with-oauth/providers/identity-providers.oidc.ts';
import { IDENTITY_PROVIDERS } from './log-in-with-oauth/providers/identity-provider.ts';
import { LoginStates } from './edge/login-states.ts';
import { BotReplies } from './log-in-with-bot/bot-replies.ts';
import { HearBotHandler } from './log-in-with-bot/hear-bot.handler.ts';
import { LogInWithBotHandler } from './log-in-with-bot/log-in-with-bot.handler.ts';
import { LogInMessengerUserHandler } from './log-in-messenger-user/log-in-messenger-user.handler.ts';
import { LogInMessengerUserHttp } from './log-in-messenger-user/log-in-messenger-user.http.ts';
import { LogInWithBotHttp } from './log-in-with-bot/log-in-with-bot.http.ts';
import { StartBotLoginHandler } from './log-in-with-bot/start-bot-login.handler.ts';
import { LogInWithIdTokenHandler } from './log-in-with-oauth/log-in-with-id-token.handler.ts';
import { LogInWithOAuthHandler } from './log-in-with-oauth/log-in-with-oauth.handler.ts';
import { LogInWithOAuthHttp } from './log-in-with-oauth/log-in-with-oauth.http.ts';
import { LoginFailures } from './log-in-with-oauth/providers/login-failures.ts';
import { StartOAuthLoginHandler } from './log-in-with-oauth/start-oauth-login.handler.ts';

/** The logins that go through another site. */
export const loginsElsewhere = ({ settings, clock, masterKey, logger }: Foundation & WithKeyVault) => {
  const failures = new LoginFailures(logger);
  return {
    measured: [failures.measured],
    controllers: [LogInWithOAuthHttp, LogInWithBotHttp, LogInMessengerUserHttp],
    providers: [
      { provide: IDENTITY_PROVIDERS, useValue: openIdentityProviders(settings, { clock, failures }) },
      { provide: LoginFailures, useValue: failures },
      { provide: BotCodes, useValue: new BotCodes(masterKey) },
      LoginStates,
      {
        provide: BotReplies,
        useFactory: (states: LoginStates, codes: BotCodes, ids: IdentityIds) => new BotReplies(states, codes, ids),
        inject: [LoginStates, BotCodes, IdentityIds],
      },
      StartOAuthLoginHandler,
      LogInWithOAuthHandler,
      LogInWithIdTokenHandler,
      StartBotLoginHandler,
      LogInWithBotHandler,
      HearBotHandler,
      LogInMessengerUserHandler,
    ],
  } satisfies ModuleMetadata & Pick<RunningPart, 'measured'>;
};
