import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { oneTimePasswordRoutes, type RequestedPassword } from '../../../schemas/http/one-time-password-routes.ts';
import type { Session } from '../../../schemas/http/session.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { LogInWithEmail } from './log-in-with-email.handler.ts';
import { RequestEmailPassword } from './request-email-password.handler.ts';

const { requestEmailPassword, logInWithEmail } = oneTimePasswordRoutes;

@Controller()
export class LogInWithEmailHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(requestEmailPassword)
  async request({
    body,
    caller: { appId, origin },
    context: { metadata, showRateLimit },
  }: ParsedRequest<typeof requestEmailPassword>): Promise<CommandAnswer<RequestedPassword>> {
    const command = new RequestEmailPassword({ appId, origin, ...body }, metadata, showRateLimit);
    const { answer, position } = await this.commands.execute(command);
    return { body: answer, position };
  }

  @Implements(logInWithEmail)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithEmail>): Promise<CommandAnswer<Session>> {
    const { appId, user } = caller;
    const login = { appId, user, token: undefined, ...body, device: context.userAgent };
    const { session, sessionId, position } = await this.commands.execute(new LogInWithEmail(login, context.metadata));
    return { body: session, position, sessionId };
  }
}
