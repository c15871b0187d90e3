import type { LoginMethodModule } from '../login-method.module.ts';
import { AskForPasskeyHandler, LogInWithPasskeyHandler } from './log-in-with-passkey.handler.ts';
import { LogInWithPasskeyHttp } from './log-in-with-passkey.http.ts';
import { PasskeyStates } from './passkey-states.ts';
import { AskToRegisterPasskeyHandler, RegisterPasskeyHandler } from './register-passkey.handler.ts';

export const passkeyLogin: LoginMethodModule = {
  offered: () => ['passkey'],
  controllers: [LogInWithPasskeyHttp],
  open: ({ transactor, states, identityIds }) => ({
    providers: [
      { provide: PasskeyStates, useValue: new PasskeyStates(transactor, states, identityIds) },
      AskToRegisterPasskeyHandler,
      RegisterPasskeyHandler,
      AskForPasskeyHandler,
      LogInWithPasskeyHandler,
    ],
  }),
};
