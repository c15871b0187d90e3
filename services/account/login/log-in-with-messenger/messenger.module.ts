import { backgroundSends } from '../../messages/channels.module.ts';
import { BackgroundSends } from '../../messages/background-sends.ts';
import { MESSENGER } from '../../messages/messenger.ts';
import type { LoginMethodModule } from '../login-method.module.ts';
import { LogInWithMessengerHandler } from './log-in-with-messenger.handler.ts';
import { LogInWithMessengerHttp } from './log-in-with-messenger.http.ts';
import { RequestMessengerPasswordHandler } from './request-messenger-password.handler.ts';

export const messengerLogin: LoginMethodModule = {
  offered: ({ MESSENGER_BOT_TOKEN, NODE_ENV }) =>
    MESSENGER_BOT_TOKEN !== undefined || NODE_ENV !== 'production' ? ['messenger'] : [],
  controllers: [LogInWithMessengerHttp],
  open: ({ channels: { messenger } }) => ({
    providers: [
      { provide: MESSENGER, useValue: messenger },
      backgroundSends(BackgroundSends),
      RequestMessengerPasswordHandler,
      LogInWithMessengerHandler,
    ],
  }),
};
