import { Controller } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { passkeyRoutes } from '../../../../schemas/http/account/passkey-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { loginAnswer } from '../logins.ts';
import { AskForPasskey, LogInWithPasskey } from './log-in-with-passkey.handler.ts';
import { AskToRegisterPasskey, RegisterPasskey } from './register-passkey.handler.ts';

const { askToRegisterPasskey, registerPasskey, askForPasskey, logInWithPasskey } = passkeyRoutes;

@Controller()
export class LogInWithPasskeyHttp {
  constructor(private readonly commands: CommandBus) {}

  @Implements(askToRegisterPasskey)
  askToRegister({ caller, context }: ParsedRequest<typeof askToRegisterPasskey>) {
    return this.commands.execute(new AskToRegisterPasskey(caller, context.metadata));
  }

  @Implements(registerPasskey)
  async register({ body, caller, context }: ParsedRequest<typeof registerPasskey>) {
    const login = { ...body, ...caller, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new RegisterPasskey(login, context.metadata)));
  }

  @Implements(askForPasskey)
  ask({ caller, context }: ParsedRequest<typeof askForPasskey>) {
    return this.commands.execute(new AskForPasskey(caller, context.metadata));
  }

  @Implements(logInWithPasskey)
  async logIn({ body, caller, context }: ParsedRequest<typeof logInWithPasskey>) {
    const login = { ...body, ...caller, device: context.userAgent };
    return loginAnswer(await this.commands.execute(new LogInWithPasskey(login, context.metadata)));
  }
}
