import { Refusal } from '../../../shared/errors/refusal.ts';

export interface MessengerMessage {
  text: string;
  /** Shown below the text. If the messenger refuses a button with this URL, the URL is appended to the text. */
  button?: { label: string; url: string };
}

/** Sends messages as this service's bot to users of the messenger. */
export interface Messenger {
  /** Returns the link that opens the bot and sends it `/start <state>`. */
  deepLink(state: string): string;
  /**
   * Returns when the messenger has accepted the message, within some seconds.
   * @throws Undeliverable, SenderRefused, and Refusal: `rate_limited` for this chat, with `retryAfter`, or
   * `dependency_unavailable`
   */
  send(messengerId: string, message: MessengerMessage): Promise<void>;
}

/** Bound to `null` if no bot is configured. */
export const MESSENGER = Symbol('Messenger');

export const noBot = (): Refusal => new Refusal('provider_not_found', 'no bot is set up here');
