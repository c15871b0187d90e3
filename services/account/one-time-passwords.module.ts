import type { Provider } from '@nestjs/common';
import { rateLimits } from '../../schemas/http/rate-limits.ts';
import type { Settings } from '../../shared/config/settings.ts';
import { CLOCK, LOGGER, MASTER_KEY, SETTINGS } from '../../shared/edge/tokens.ts';
import { Transactor } from '../../shared/event-store/transact.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { Logger } from '../../shared/host/logger.ts';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { RequestLimit } from './domain/one-time-password.ts';
import { BackgroundSends, MAIL_SENDS } from './edge/background-sends.ts';
import { DevelopmentMailbox } from './edge/development-mailbox.memory.ts';
import { IdentityIds } from './edge/identity-ids.ts';
import { Logins } from './edge/logins.ts';
import { MAILER, type Mailer } from './edge/mailer.ts';
import { SmtpMailer } from './edge/mailer.smtp.ts';
import { MESSENGER, type Messenger } from './edge/messenger.ts';
import { TelegramMessenger } from './edge/messenger.telegram.ts';
import { OneTimePasswordLogins, type RequestLimits } from './edge/one-time-passwords.ts';
import { PasswordHashes, type PasswordCost } from './edge/password-hashes.ts';
import { LogInWithEmailHandler } from './log-in-with-email/log-in-with-email.handler.ts';
import { LogInWithEmailHttp } from './log-in-with-email/log-in-with-email.http.ts';
import { RequestEmailPasswordHandler } from './log-in-with-email/request-email-password.handler.ts';
import { LogInWithMessengerHandler } from './log-in-with-messenger/log-in-with-messenger.handler.ts';
import { LogInWithMessengerHttp } from './log-in-with-messenger/log-in-with-messenger.http.ts';
import { RequestMessengerPasswordHandler } from './log-in-with-messenger/request-messenger-password.handler.ts';

/** What carries messages to people. */
export interface Channels {
  /** `null` where none is set up. */
  mailer: Mailer | null;
  messenger: Messenger | null;
  /** Absent in production. */
  mailbox: DevelopmentMailbox | undefined;
}

/** Outside production a mailbox takes what no server is set up for. */
export const openChannels = ({ settings, clock, ids }: Foundation, accountUrl: () => string): Channels => {
  const mailbox = settings.NODE_ENV === 'production' ? undefined : new DevelopmentMailbox({ clock, ids, accountUrl });
  return {
    mailbox,
    mailer: smtpMailer(settings) ?? mailbox?.mailer ?? null,
    messenger: botMessenger(settings) ?? mailbox?.messenger ?? null,
  };
};

const smtpMailer = ({ SMTP_URL, MAIL_FROM = '', NODE_ENV }: Settings): Mailer | undefined => {
  if (SMTP_URL === undefined) return undefined;
  // A password is sent over TLS only.
  const requireTls = NODE_ENV === 'production' && new URL(SMTP_URL).password !== '';
  return new SmtpMailer({ url: SMTP_URL, from: MAIL_FROM, requireTls });
};

const botMessenger = ({
  MESSENGER_API_URL: apiUrl,
  MESSENGER_BOT_TOKEN: token,
  MESSENGER_BOT_NAME: name = '',
}: Settings): Messenger | undefined =>
  token === undefined ? undefined : new TelegramMessenger({ apiUrl, token, name });

const requestLimitsOf = ({ RATE_LIMITS }: Pick<Settings, 'RATE_LIMITS'>): RequestLimits => {
  if (RATE_LIMITS === 'off') return { app: [], all: undefined };
  const limit = (name: RequestLimit['name']) => ({ name, ...(RATE_LIMITS[name] ?? rateLimits[name]) });
  return { app: [limit('otpRequest'), limit('otpRequestDay')], all: limit('otpRequestAll') };
};

export const oneTimePasswordControllers = [LogInWithEmailHttp, LogInWithMessengerHttp];

export const oneTimePasswordProviders = ({ mailer, messenger }: Channels, cost?: PasswordCost): Provider[] => [
  { provide: MAILER, useValue: mailer },
  { provide: MESSENGER, useValue: messenger },
  {
    provide: PasswordHashes,
    useFactory: (masterKey: Uint8Array) => new PasswordHashes(masterKey, cost),
    inject: [MASTER_KEY],
  },
  ...[BackgroundSends, MAIL_SENDS].map((provide) => ({
    provide,
    useFactory: (clock: Clock, logger: Logger) =>
      new BackgroundSends(clock, (error) => {
        logger.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'a message was not sent');
      }),
    inject: [CLOCK, LOGGER],
  })),
  {
    provide: OneTimePasswordLogins,
    useFactory: (
      transactor: Transactor,
      logins: Logins,
      ids: IdentityIds,
      hashes: PasswordHashes,
      settings: Settings,
    ) => new OneTimePasswordLogins(transactor, logins, ids, hashes, requestLimitsOf(settings)),
    inject: [Transactor, Logins, IdentityIds, PasswordHashes, SETTINGS],
  },
  RequestEmailPasswordHandler,
  LogInWithEmailHandler,
  RequestMessengerPasswordHandler,
  LogInWithMessengerHandler,
];
