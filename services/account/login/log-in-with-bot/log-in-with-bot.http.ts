import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { messengerRoutes, WEBHOOK_SECRET } from '../../../schemas/http/messenger-routes.ts';
import type { StartedLogin } from '../../../schemas/http/oauth-routes.ts';
import type { Session } from '../../../schemas/http/session.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { HearBot } from './hear-bot.handler.ts';
import { LogInWithBot } from './log-in-with-bot.handler.ts';
import { StartBotLogin } from './start-bot-login.handler.ts';

const { startBotLogin, logInWithBot, hearBot } = messengerRoutes;

@Controller()
export class LogInWithBotHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(startBotLogin)
  start({ query, caller, context }: ParsedRequest<typeof startBotLogin>): Promise<StartedLogin> {
    const { appId, origin, user } = caller;
    const start = { appId, origin, user, redirectUri: query.redirectUri };
    return this.commands.execute(new StartBotLogin(start, context.metadata));
  }

  @Implements(logInWithBot)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithBot>): Promise<CommandAnswer<Session>> {
    const { appId, origin, user } = caller;
    const login = { ...body, appId, origin, user, device: context.userAgent };
    const { session, sessionId, position } = await this.commands.execute(new LogInWithBot(login, context.metadata));
    return { body: session, position, sessionId };
  }

  @Implements(hearBot)
  async hear({ body, context }: ParsedRequest<typeof hearBot>): Promise<Record<string, never>> {
    const secret = context.header(WEBHOOK_SECRET);
    await this.commands.execute(new HearBot({ secret, message: body.message }, context.metadata));
    return {};
  }
}
