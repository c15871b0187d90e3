import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Channel } from './channel.ts';
import type { Place } from './cursor.ts';
import type { Page } from './delivery.ts';
import type { Subscription } from './subscription.ts';

/** What is kept of a channel. */
export interface Past {
  /** The changes after a position, in position order, to where what is at hand goes on. */
  older: (channel: Channel, after: Position, signal: AbortSignal) => AsyncIterable<Page>;
  /** What stands now of a block and later ones, in the order it was observed; the last page says where to go on. */
  history: (channel: Channel, fromBlock: number) => AsyncIterable<Page>;
  /**
   * The first place from which everything is kept, if something after `place` may be lost.
   * @param newest that place, when nothing is kept
   */
  lostAfter: (channel: Channel, place: Place, newest: Position, signal: AbortSignal) => Promise<Position | undefined>;
}

/** Where a channel's changes come from: now, lately, and long ago. */
export interface Feed extends Pick<Past, 'older' | 'history'> {
  /** Where "from now" begins. @throws Refusal dependency_unavailable, not_caught_up while that is not known */
  now: (channel: Channel) => Promise<Position>;
  /** From here on offers every new change to the subscription; `now` is what was said when it began. */
  join: (subscription: Subscription, now: Position) => void;
  leave: (subscription: Subscription) => void;
  /** The next changes after a position, as far as they are at hand; empty: none. `undefined`: not at hand, read `older`. */
  recent: (channel: Channel, after: Position) => Page | undefined;
  /** As the past says, which need not be asked about what is at hand. */
  lostAfter: (channel: Channel, place: Place, signal: AbortSignal) => Promise<Position | undefined>;
}
