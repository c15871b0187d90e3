import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { messengerRoutes } from '../../../schemas/http/messenger-routes.ts';
import type { Session } from '../../../schemas/http/session.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { LogInMessengerUser } from './log-in-messenger-user.handler.ts';

const { logInMessengerUser } = messengerRoutes;

@Controller()
export class LogInMessengerUserHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(logInMessengerUser)
  async logIn({ body, context }: ParsedRequest<typeof logInMessengerUser>): Promise<CommandAnswer<Session>> {
    const login = { ...body, device: context.userAgent };
    const { session, sessionId, position } = await this.commands.execute(
      new LogInMessengerUser(login, context.metadata),
    );
    return { body: session, position, sessionId };
  }
}
