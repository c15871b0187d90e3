import type { Subscribe, Subscribed } from '../../../schemas/socket/stream-commands.ts';
import type { StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import type { SendBuffer, Subscription } from './subscription.ts';

/** Who subscribes: one connection. */
export interface Subscriber {
  readonly buffer: SendBuffer;
  /** By id. */
  readonly subscriptions: Map<string, Subscription>;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
  tell: <Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]) => void;
}

/** What a subscriber may ask for. */
export interface SubscriptionCommands {
  /**
   * @param acknowledge called once, before anything else is sent for the subscription
   * @throws Refusal already_subscribed, cursor_invalid, rate_limited and what finding the channel throws
   */
  open: (subscriber: Subscriber, command: Subscribe, acknowledge: (answer: Subscribed) => void) => Promise<void>;
  /** @throws Refusal subscription_not_found */
  close: (subscriber: Subscriber, subscriptionId: string) => void;
  closeAll: (subscriber: Subscriber) => void;
}
