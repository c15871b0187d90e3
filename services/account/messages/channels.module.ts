import type { Provider } from '@nestjs/common';
import type { Settings } from '../../../shared/config/settings.ts';
import { CLOCK, LOGGER } from '../../../shared/edge/tokens.ts';
import type { Foundation } from '../../../shared/host/foundation.ts';
import type { Logger } from '../../../shared/host/logger.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { BackgroundSends, type MAIL_SENDS } from './background-sends.ts';
import { DevelopmentMailbox } from './development-mailbox.memory.ts';
import type { Mailer } from './mailer.ts';
import type { Messenger } from './messenger.ts';
import { TelegramMessenger } from './messenger.telegram.ts';

/** What carries messages to people. */
export interface Channels {
  /** `null` where none is set up. */
  mailer: Mailer | null;
  messenger: Messenger | null;
  /** Absent in production. */
  mailbox: DevelopmentMailbox | undefined;
}

/**
 * Outside production a mailbox takes what no server is set up for.
 * @param messageWithinMs how long the mail server or the messenger may take for a message; default: what each adapter says
 */
export const openChannels = async (
  { settings, clock, ids }: Foundation,
  accountUrl: () => string,
  messageWithinMs?: number,
): Promise<Channels> => {
  const mailbox = settings.NODE_ENV === 'production' ? undefined : new DevelopmentMailbox({ clock, ids, accountUrl });
  return {
    mailbox,
    mailer: (await smtpMailer(settings, messageWithinMs)) ?? mailbox?.mailer ?? null,
    messenger: botMessenger(settings, messageWithinMs) ?? mailbox?.messenger ?? null,
  };
};

const smtpMailer = async (
  { SMTP_URL, MAIL_FROM = '', NODE_ENV }: Settings,
  messageWithinMs: number | undefined,
): Promise<Mailer | undefined> => {
  if (SMTP_URL === undefined) return undefined;
  // A password is sent over TLS only.
  const requireTls = NODE_ENV === 'production' && new URL(SMTP_URL).password !== '';
  const { SmtpMailer } = await import('./mailer.smtp.ts');
  return new SmtpMailer({ url: SMTP_URL, from: MAIL_FROM, requireTls }, messageWithinMs);
};

const botMessenger = (
  { MESSENGER_API_URL: apiUrl, MESSENGER_BOT_TOKEN: token, MESSENGER_BOT_NAME: name = '' }: Settings,
  messageWithinMs: number | undefined,
): Messenger | undefined =>
  token === undefined ? undefined : new TelegramMessenger({ apiUrl, token, name }, messageWithinMs);

/** The sends of one channel that nobody waits for. */
export const backgroundSends = (provide: typeof BackgroundSends | typeof MAIL_SENDS): Provider => ({
  provide,
  useFactory: (clock: Clock, logger: Logger) =>
    new BackgroundSends(clock, (error) => {
      logger.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'a message was not sent');
    }),
  inject: [CLOCK, LOGGER],
});
