import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { messengerRoutes } from '../../../../schemas/http/account/messenger-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { loginAnswer } from '../logins.ts';
import { LogInMessengerUser } from './log-in-messenger-user.handler.ts';

const { logInMessengerUser } = messengerRoutes;

@Controller()
export class LogInMessengerUserHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(logInMessengerUser)
  async logIn({ body, context }: ParsedRequest<typeof logInMessengerUser>) {
    const login = { ...body, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new LogInMessengerUser(login, context.metadata)));
  }
}
