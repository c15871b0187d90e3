import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { oneTimePasswordRoutes } from '../../../../schemas/http/account/one-time-password-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { loginAnswer } from '../logins.ts';
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
  }: ParsedRequest<typeof requestEmailPassword>) {
    const command = new RequestEmailPassword({ appId, origin, ...body }, metadata, showRateLimit);
    const { answer, position } = await this.commands.execute(command);
    return { body: answer, position };
  }

  @Implements(logInWithEmail)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithEmail>) {
    const login = { ...body, ...caller, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new LogInWithEmail(login, context.metadata)));
  }
}
