import { z } from 'zod';
import { isoTime } from '../../values.ts';

export const MAILBOX_PATH = '/dev/mailbox';
export const MESSENGER_PATH = '/dev/messenger';

/** What a development start would have sent. */
export const developmentMessage = z.object({
  id: z.string(),
  channel: z.enum(['email', 'messenger']),
  /** An address of email, or the id of a user of the messenger. */
  to: z.string(),
  /** Empty where the channel has none. */
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  sentAt: isoTime,
});
export type DevelopmentMessage = z.infer<typeof developmentMessage>;

/** The answer of `GET /dev/mailbox` to `Accept: application/json`, newest first. */
export const developmentMailbox = z.object({ messages: z.array(developmentMessage) });
export type DevelopmentMailboxAnswer = z.infer<typeof developmentMailbox>;

/** The answer of `GET /dev/messenger?start=<state>&from=<id>` to `Accept: application/json`: what the bot says to that user. */
export const developmentMessenger = z.object({
  messengerId: z.string(),
  text: z.string(),
  button: z.object({ label: z.string(), url: z.url() }).nullable(),
});
export type DevelopmentMessenger = z.infer<typeof developmentMessenger>;
