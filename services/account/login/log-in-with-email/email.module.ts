import { backgroundSends } from '../../messages/channels.module.ts';
import { MAIL_SENDS } from '../../messages/background-sends.ts';
import { MAILER } from '../../messages/mailer.ts';
import type { LoginMethodModule } from '../login-method.module.ts';
import { LogInWithEmailHandler } from './log-in-with-email.handler.ts';
import { LogInWithEmailHttp } from './log-in-with-email.http.ts';
import { RequestEmailPasswordHandler } from './request-email-password.handler.ts';

export const emailLogin: LoginMethodModule = {
  offered: ({ SMTP_URL, NODE_ENV }) => (SMTP_URL !== undefined || NODE_ENV !== 'production' ? ['email'] : []),
  controllers: [LogInWithEmailHttp],
  open: ({ channels: { mailer } }) => ({
    providers: [
      { provide: MAILER, useValue: mailer },
      backgroundSends(MAIL_SENDS),
      RequestEmailPasswordHandler,
      LogInWithEmailHandler,
    ],
  }),
};
