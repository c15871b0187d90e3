import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { oneTimePasswordRoutes, type RequestedPassword } from '../../../schemas/http/one-time-password-routes.ts';
import type { Session } from '../../../schemas/http/session.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/implements.ts';
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
  }: ParsedRequest<typeof requestMessengerPassword>): Promise<CommandAnswer<RequestedPassword>> {
    const command = new RequestMessengerPassword({ appId, origin, ...body }, metadata, showRateLimit);
    const { answer, position } = await this.commands.execute(command);
    return { body: answer, position };
  }

  @Implements(logInWithMessenger)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithMessenger>): Promise<CommandAnswer<Session>> {
    const { messengerId, otp, token, avatarUrl, ...names } = body;
    const profile = { ...names, ...(avatarUrl !== undefined && { avatar: avatarUrl }) };
    const { appId, user } = caller;
    const login = { appId, user, messengerId, otp, token, profile, device: context.userAgent };
    const command = new LogInWithMessenger(login, context.metadata);
    const { session, sessionId, position } = await this.commands.execute(command);
    return { body: session, position, sessionId };
  }
}
