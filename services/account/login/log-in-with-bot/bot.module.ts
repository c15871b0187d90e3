import type { LoginMethodModule } from '../login-method.module.ts';
import { BotCodes } from './bot-codes.ts';
import { BotReplies } from './bot-replies.ts';
import { HearBotHandler } from './hear-bot.handler.ts';
import { LogInWithBotHandler } from './log-in-with-bot.handler.ts';
import { LogInWithBotHttp } from './log-in-with-bot.http.ts';
import { StartBotLoginHandler } from './start-bot-login.handler.ts';

/** Offered as `messenger`, which sends through the same bot. */
export const botLogin: LoginMethodModule = {
  offered: () => [],
  controllers: [LogInWithBotHttp],
  open: ({ foundation: { masterKey }, states, identityIds }) => ({
    providers: [
      { provide: BotReplies, useValue: new BotReplies(states, new BotCodes(masterKey), identityIds) },
      StartBotLoginHandler,
      LogInWithBotHandler,
      HearBotHandler,
    ],
  }),
};
