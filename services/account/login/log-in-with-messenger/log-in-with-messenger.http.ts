import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { oneTimePasswordRoutes } from '../../../../schemas/http/account/one-time-password-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { loginAnswer } from '../logins.ts';
import { LogInWithMessenger } from './log-in-with-messenger.handler.ts';
import { RequestMessengerPassword } from './request-messenger-password.handler.ts';

const { requestMessengerPassword, logInWithMessenger } = oneTimePasswordRoutes;

@Controller()
export class LogInWithMessengerHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(requestMessengerPassword)
  async request({
    body,
    caller: { appId, origin },
    context: { metadata, showRateLimit },
  }: ParsedRequest<typeof requestMessengerPassword>) {
    const command = new RequestMessengerPassword({ appId, origin, ...body }, metadata, showRateLimit);
    const { answer, position } = await this.commands.execute(command);
    return { body: answer, position };
  }

  @Implements(logInWithMessenger)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithMessenger>) {
    const { messengerId, otp, token, avatarUrl, ...names } = body;
    const profile = { ...names, ...(avatarUrl !== undefined && { avatar: avatarUrl }) };
    const login = { ...caller, messengerId, otp, token, profile, device: context.userAgent };
    const command = new LogInWithMessenger(login, context.metadata);
    return loginAnswer(await this.commands.execute(command));
  }
}
