import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { messengerRoutes, WEBHOOK_SECRET } from '../../../../schemas/http/account/messenger-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { loginAnswer } from '../logins.ts';
import { HearBot } from './hear-bot.handler.ts';
import { LogInWithBot } from './log-in-with-bot.handler.ts';
import { StartBotLogin } from './start-bot-login.handler.ts';

const { startBotLogin, logInWithBot, hearBot } = messengerRoutes;

@Controller()
export class LogInWithBotHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(startBotLogin)
  start({ query, caller, context }: ParsedRequest<typeof startBotLogin>) {
    const { appId, origin, user } = caller;
    const start = { appId, origin, user, redirectUri: query.redirectUri };
    return this.commands.execute(new StartBotLogin(start, context.metadata));
  }

  @Implements(logInWithBot)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithBot>) {
    const login = { ...body, ...caller, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new LogInWithBot(login, context.metadata)));
  }

  @Implements(hearBot)
  async hear({ body, context }: ParsedRequest<typeof hearBot>) {
    const secret = context.header(WEBHOOK_SECRET);
    await this.commands.execute(new HearBot({ secret, message: body.message }, context.metadata));
    return {};
  }
}
