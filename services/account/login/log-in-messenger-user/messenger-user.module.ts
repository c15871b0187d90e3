import type { LoginMethodModule } from '../login-method.module.ts';
import { LogInMessengerUserHandler } from './log-in-messenger-user.handler.ts';
import { LogInMessengerUserHttp } from './log-in-messenger-user.http.ts';

/** Not offered to people: an app's own bot uses it. */
export const messengerUserLogin: LoginMethodModule = {
  offered: () => [],
  controllers: [LogInMessengerUserHttp],
  open: () => ({ providers: [LogInMessengerUserHandler] }),
};
