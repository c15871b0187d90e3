import type { Subscribe, Subscribed } from '../../../schemas/socket/stream-commands.ts';
import type { StreamMessages } from '../../../schemas/socket/stream-messages.ts';
import type { Claimant } from '../../../shared/chain/identifiers/claimant.ts';
import type { SendBuffer, Subscription } from './subscription.ts';

/** The part of a connection that its subscriptions use. */
export interface Subscriber {
  /** The key under which its caller is counted, over all connections. */
  readonly holderKey: string;
  /** The claimant of the watches that it claims; `undefined` if it is nobody in particular. */
  readonly claimant: Claimant | undefined;
  readonly buffer: SendBuffer;
  /** The subscriptions by id. */
  readonly subscriptions: Map<string, Subscription>;
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal;
  emit: <Name extends keyof StreamMessages>(name: Name, message: StreamMessages[Name]) => void;
}

export type Acknowledge = (answer: Subscribed, lastError: string | null) => void;

/** The commands of a subscriber. */
export interface SubscriptionCommands {
  /**
   * @param acknowledge called with the answer and why the watch is not read, once, before anything is sent for the subscription; never if the connection has ended
   * @throws Refusal already_subscribed, cursor_invalid, rate_limited and what `FindChannel.find` throws
   */
  open: (subscriber: Subscriber, command: Subscribe, acknowledge: Acknowledge) => Promise<void>;
  /** @throws Refusal subscription_not_found */
  close: (subscriber: Subscriber, subscriptionId: string) => void;
  closeAll: (subscriber: Subscriber) => void;
}
