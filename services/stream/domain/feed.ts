import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Channel } from './channel.ts';
import type { Place } from './cursor.ts';
import type { Delivery } from './delivery.ts';
import type { Subscription } from './subscription.ts';

/** A stretch of a channel. */
export interface Passage {
  deliveries: Delivery[];
  /** Where it ends: what was before is in it or in an earlier one. */
  end: Place;
}

/** Where a channel's changes come from: now, lately, and long ago. */
export interface Feed {
  /** Where "from now" begins. @throws Refusal dependency_unavailable, not_caught_up while that is not known */
  now: (channel: Channel) => Promise<Position>;
  /** From here on offers every new change to the subscription; `now` is what was said when it began. */
  join: (subscription: Subscription, now: Position) => void;
  leave: (subscription: Subscription) => void;
  /** The next changes after a position, as far as they are at hand; empty: none. `undefined`: not at hand, read `older`. */
  recent: (channel: Channel, after: Position) => Passage | undefined;
  /** The same from the store behind, to where `recent` goes on, in position order. */
  older: (channel: Channel, after: Position, signal: AbortSignal) => AsyncIterable<Passage>;
  /** What stands now of a block and later ones, in the order it was observed; the last passage says where to go on. */
  history: (channel: Channel, fromBlock: number) => AsyncIterable<Passage>;
  /** The first place from which everything is kept, if something after `place` may be lost. */
  lostAfter: (channel: Channel, place: Place) => Promise<Position | undefined>;
}
