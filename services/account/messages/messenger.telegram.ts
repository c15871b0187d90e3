import { z } from 'zod';
import { MESSENGER_ID } from '../../../schemas/http/account/one-time-password-routes.ts';
import { Refusal, unavailable } from '../../../shared/errors/refusal.ts';
import { nodeErrorCode } from '../../../shared/errors/node-error-code.ts';
import { isLoopback } from '../../../shared/primitives/loopback.ts';
import type { Messenger, MessengerMessage } from './messenger.ts';
import { SenderRefused } from './sender-refused.ts';
import { Undeliverable } from './undeliverable.ts';

export const ANSWER_WITHIN_MS = 3_000;

const answerSchema = z.object({
  ok: z.boolean(),
  parameters: z.object({ retry_after: z.int().nonnegative().optional() }).default({}),
});

export interface TelegramBot {
  /** Without a trailing slash. */
  apiUrl: string;
  token: string;
  /** Without `@`. */
  name: string;
}

/** Telegram's Bot API. Its URLs contain the token, so no error of a request is passed on unchanged. */
export class TelegramMessenger implements Messenger {
  constructor(
    private readonly bot: TelegramBot,
    private readonly answerWithinMs = ANSWER_WITHIN_MS,
  ) {}

  deepLink(state: string): string {
    return `https://t.me/${this.bot.name}?start=${state}`;
  }

  async send(messengerId: string, message: MessengerMessage): Promise<void> {
    if (!MESSENGER_ID.test(messengerId)) throw new Undeliverable('the id is not that of a person');
    const { status, body } = await this.call('sendMessage', {
      chat_id: messengerId,
      ...textAndButton(message),
      // For a preview, the messenger itself would open the link.
      link_preview_options: { is_disabled: true },
    });
    if (!body.ok) throw refusalOf(status, body);
  }

  private async call(method: string, parameters: object) {
    try {
      const answer = await fetch(`${this.bot.apiUrl}/bot${this.bot.token}/${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(parameters),
        // The token must not be sent to any other server.
        redirect: 'error',
        signal: AbortSignal.timeout(this.answerWithinMs),
      });
      const text = await answer.text();
      return { status: answer.status, body: answerSchema.parse(JSON.parse(text)) };
    } catch (error) {
      throw unavailable('the messenger does not answer', new Error(reasonOf(error)));
    }
  }
}

/** The Bot API refuses buttons with other URLs. */
const takesButton = (url: string): boolean => {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' && !isLoopback(hostname);
};

const textAndButton = ({ text, button }: MessengerMessage): object => {
  if (!button) return { text };
  if (!takesButton(button.url)) return { text: `${text}\n\n${button.label}: ${button.url}` };
  return { text, reply_markup: { inline_keyboard: [[{ text: button.label, url: button.url }]] } };
};

/** Descriptions may quote the request, such as a button's URL, so they are not passed on. */
const refusalOf = (status: number, { parameters }: z.infer<typeof answerSchema>): Error => {
  const { retry_after: retryAfter } = parameters;
  // Each chat has its own limit.
  if (status === 429) {
    return new Refusal('rate_limited', 'the messenger takes no more messages for this chat now', {
      retryAfter: retryAfter ?? 1,
    });
  }
  if (status === 400 || status === 403) {
    return new Undeliverable(`the messenger refuses the message or its recipient: ${String(status)}`);
  }
  if (status === 401 || status === 404) {
    return new SenderRefused('the messenger does not know the bot: check MESSENGER_BOT_TOKEN');
  }
  return unavailable('the messenger does not take the message', new Error(String(status)));
};

/** The code of a failed connection, or else the kind of the error: never its message, which may contain the URL. */
const reasonOf = (error: unknown): string => {
  const { name, cause } = error as { name?: string; cause?: unknown };
  return nodeErrorCode(cause) ?? name ?? 'unknown';
};
