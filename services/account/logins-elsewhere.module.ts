import type { ModuleMetadata } from '@nestjs/common';
import type { Foundation } from '../../shared/host/foundation.ts';
import { BotCodes } from './edge/bot-codes.ts';
import { openIdentityProviders } from './edge/identity-provider.oidc.ts';
import { IDENTITY_PROVIDERS } from './edge/identity-provider.ts';
import { LoginStates } from './edge/login-states.ts';
import { HearBotHandler } from './log-in-with-bot/hear-bot.handler.ts';
import { LogInWithBotHandler } from './log-in-with-bot/log-in-with-bot.handler.ts';
import { LogInMessengerUserHandler } from './log-in-messenger-user/log-in-messenger-user.handler.ts';
import { LogInMessengerUserHttp } from './log-in-messenger-user/log-in-messenger-user.http.ts';
import { LogInWithBotHttp } from './log-in-with-bot/log-in-with-bot.http.ts';
import { StartBotLoginHandler } from './log-in-with-bot/start-bot-login.handler.ts';
import { LogInWithOAuthHandler } from './log-in-with-oauth/log-in-with-oauth.handler.ts';
import { LogInWithOAuthHttp } from './log-in-with-oauth/log-in-with-oauth.http.ts';
import { StartOAuthLoginHandler } from './log-in-with-oauth/start-oauth-login.handler.ts';

/** The logins that go through another site. */
export const loginsElsewhere = ({ settings, clock, masterKey }: Foundation) =>
  ({
    controllers: [LogInWithOAuthHttp, LogInWithBotHttp, LogInMessengerUserHttp],
    providers: [
      { provide: IDENTITY_PROVIDERS, useValue: openIdentityProviders(settings, clock) },
      { provide: BotCodes, useValue: new BotCodes(masterKey) },
      LoginStates,
      StartOAuthLoginHandler,
      LogInWithOAuthHandler,
      StartBotLoginHandler,
      LogInWithBotHandler,
      HearBotHandler,
      LogInMessengerUserHandler,
    ],
  }) satisfies ModuleMetadata;
