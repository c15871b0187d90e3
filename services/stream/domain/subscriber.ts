import type { Subscribe, Subscribed } from '../../../schemas/socket/stream-commands.ts';
import type { StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import type { Claimant } from '../../../shared/chain/claimant.ts';
import type { SendBuffer, Subscription } from './subscription.ts';

/** A connection, as its subscriptions use it. */
export interface Subscriber {
  /** Under which its caller is counted, over all connections. */
  readonly holderKey: string;
  /** As whom it claims watches. */
  readonly claimant: Claimant;
  readonly buffer: SendBuffer;
  /** The subscriptions by id. */
  readonly subscriptions: Map<string, Subscription>;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
  emit: <Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]) => void;
}

/** The commands of a subscriber. */
export interface SubscriptionCommands {
  /**
   * @param acknowledge called once, before anything is sent for the subscription; never if the connection has ended
   * @throws Refusal already_subscribed, cursor_invalid, rate_limited and what `FindChannel.find` throws
   */
  open: (subscriber: Subscriber, command: Subscribe, acknowledge: (answer: Subscribed) => void) => Promise<void>;
  /** @throws Refusal subscription_not_found */
  close: (subscriber: Subscriber, subscriptionId: string) => void;
  closeAll: (subscriber: Subscriber) => void;
}
