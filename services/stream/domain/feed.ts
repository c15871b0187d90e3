import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Channel } from './channel.ts';
import type { ResumePoint } from './cursor.ts';
import type { Page } from './delivery.ts';
import type { Subscription } from './subscription.ts';

/** Reads what is stored of a channel, outside the memory of this node. */
export interface ChannelHistory {
  /**
   * Yields the changes after a position, in position order. It ends at once when none is stored, and otherwise goes on
   * until the caller stops reading or the signal aborts.
   */
  replay: (channel: Channel, after: Position, signal: AbortSignal) => AsyncIterable<Page>;
  /**
   * Yields the records of a block and later ones that are not reverted, in the order of their observation. The end of
   * the last page is where the changes after them begin.
   */
  currentRecords: (channel: Channel, fromBlock: number) => AsyncIterable<Page>;
  /**
   * Returns the position after which every message is stored, when messages between the resume point and that position
   * may have been deleted; `undefined`: there is no gap.
   * @param newest the position to return when no message is stored
   */
  gapAfter: (
    channel: Channel,
    resumePoint: ResumePoint,
    newest: Position,
    signal: AbortSignal,
  ) => Promise<Position | undefined>;
}

/** Gives the changes of channels: new ones, recent ones from memory, and older ones from the history. */
export interface Feed extends Pick<ChannelHistory, 'replay' | 'currentRecords'> {
  /**
   * Returns the position after which a subscription without cursor and block begins.
   * @throws Refusal dependency_unavailable, not_caught_up while the position is not known
   */
  now: (channel: Channel) => Promise<Position>;
  /** Offers every new change to the subscription from now on. @param now the result of `now` for this subscription */
  join: (subscription: Subscription, now: Position) => void;
  leave: (subscription: Subscription) => void;
  /**
   * Returns the next changes after a position from memory; an empty page when there are none; `undefined` when not all
   * changes after the position are in memory: read `replay`.
   */
  recent: (channel: Channel, after: Position) => Page | undefined;
  /** As in `ChannelHistory`, which is not read when memory reaches back to the resume point. */
  gapAfter: (channel: Channel, resumePoint: ResumePoint, signal: AbortSignal) => Promise<Position | undefined>;
}
