import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Channel } from './channel.ts';
import type { ResumePoint } from '../../../shared/keys/stream-cursors.ts';
import type { Page } from './delivery.ts';
import type { Subscription } from './subscription.ts';

/** Where to begin or go on with a history. */
export interface HistoryPoint {
  /** The first block of which events are sent. */
  fromBlock: number;
  /** Where a history that has begun goes on. */
  begun?: { asOf: Position } & Pick<ResumePoint, 'position' | 'newestAtMs'>;
  /** All changes after this position are wanted, whatever their block; default: of no earlier blocks. */
  since?: Position;
  /** Maximum deliveries of a page; default 64. */
  limit?: number | undefined;
}

/** Returns the history that a cursor asks for; `undefined` for a cursor after a history. */
export const historyOf = ({ position, newestAtMs, historyFrom, asOf }: ResumePoint): HistoryPoint | undefined => {
  if (historyFrom === undefined) return undefined;
  if (asOf !== undefined) return { fromBlock: historyFrom, begun: { position, newestAtMs, asOf } };
  if (position === 0) return { fromBlock: historyFrom };
  // The answer of a query, which has the blocks before: they can still be corrected.
  return { fromBlock: historyFrom, begun: { position: 0, newestAtMs, asOf: position }, since: position };
};

/** Reads stored changes of a channel, outside of this node's memory. */
export interface ChannelHistory {
  /**
   * Yields the changes after a position, in position order. Ends at once if none is stored, and otherwise continues
   * until the caller stops reading or the signal aborts.
   */
  replay: (channel: Channel, after: Position, signal: AbortSignal) => AsyncIterable<Page>;
  /**
   * Yields the records of a block and later ones that are not reverted, in the order of their observation. The end of
   * the last page is where the changes after them begin; those of the pages before have `historyFrom`.
   */
  currentRecords: (channel: Channel, history: HistoryPoint) => AsyncGenerator<Page, undefined>;
  /**
   * Detects a gap: returns the position after which every message is stored, if messages between the resume point and
   * that position may have been deleted; `undefined` if there is no gap.
   * @param newest the position to return if no message is stored
   */
  gapAfter: (
    channel: Channel,
    resumePoint: ResumePoint,
    newest: Position,
    signal: AbortSignal,
  ) => Promise<Position | undefined>;
}

/** Provides the changes of channels: new ones, recent ones from memory, and older ones from the history. */
export interface Feed extends Pick<ChannelHistory, 'replay' | 'currentRecords'> {
  /**
   * Returns the position after which a subscription without cursor and block begins.
   * @throws Refusal dependency_unavailable, not_caught_up while the position is unknown
   */
  now: (channel: Channel) => Promise<Position>;
  /** Offers every new change to the subscription from now on. @param now the result of `now` for this subscription */
  join: (subscription: Subscription, now: Position) => void;
  leave: (subscription: Subscription) => void;
  /**
   * Returns the next changes after a position from memory. The page is empty if there are none; `undefined` if memory
   * does not reach back to the position: use `replay`.
   */
  recent: (channel: Channel, after: Position) => Page | undefined;
  /** As in `ChannelHistory`, which is not read if memory reaches back to the resume point. */
  gapAfter: (channel: Channel, resumePoint: ResumePoint, signal: AbortSignal) => Promise<Position | undefined>;
}
