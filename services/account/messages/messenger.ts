export interface MessengerMessage {
  text: string;
  /** Below the text; where the messenger takes no button with this URL, the URL is put into the text. */
  button?: { label: string; url: string };
}

/** Speaks as the bot of this service to users of the messenger. */
export interface Messenger {
  /** Returns the link that opens the bot and gives it `/start <state>`. */
  deepLink(state: string): string;
  /**
   * Returns when the messenger has taken the message, within some seconds.
   * @throws Undeliverable, SenderRefused, and Refusal: `rate_limited` for this chat, with `retryAfter`, or
   * `dependency_unavailable`
   */
  send(messengerId: string, message: MessengerMessage): Promise<void>;
}

/** Bound to `null` where no bot is set up. */
export const MESSENGER = Symbol('Messenger');
