import type { BlocksGap } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import { setWatchesUpTo, resumeDeferred, type Transition } from '../chain-progress.ts';
import { findRange, joinNeighbours, lastBlockOf, rangesOf, type CoveredWatch, type Range } from './coverage.ts';
import { tipOf } from '../../../../shared/chain/window.ts';

/**
 * Turns blocks `range.next`…`to` into a gap, or appends them to a wanted gap that ends at `range.next - 1`. The rest of
 * the range is still read, even if the range was a gap itself: perhaps only its first blocks are missing.
 */
export const leaveGap =
  (range: Range, { to, gap }: { to: number; gap: BlocksGap }, { wantedFrom }: { wantedFrom: number }): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    const now = findRange(progress, range);
    if (now?.next !== range.next || to < now.next || to > lastBlockOf(window, now))
      throw new Error(`blocks ${String(range.next)} to ${String(to)} are not the next ones of ${range.watchId}`);
    const { gap: known = gap, ...unread } = now;
    const left = { watchId: now.watchId, from: now.next, next: now.next, to, joins: false, gap: known };
    const rest = now.joins || to < now.to ? [{ ...unread, next: to + 1 }] : [];
    const divided = backfills.flatMap((one) => (one === now ? [left, ...rest] : [one]));
    return { ...progress, backfills: joinNeighbours(divided, { id: now.watchId, wantedFrom }) };
  };

/** A watch with this many ranges is not split any more. Then some blocks are read that nobody wants. */
const RANGES_MAX = 100;

/**
 * Moves the start of a watch to a block that is not before its earliest start; `extendWatch` moves it further back.
 * Splits the range that crosses `startBlock`, so that every range is wanted or unwanted as a whole.
 */
export const splitAtStart =
  (watch: CoveredWatch, startBlock: number, position: Position): Transition =>
  (before) => {
    const progress = resumeDeferred([watch.id])(before);
    const tip = tipOf(progress.window).number;
    const isFull = rangesOf(progress, watch.id).length >= RANGES_MAX;
    const backfills = progress.backfills.flatMap((range) => {
      const isDivided =
        !isFull && range.watchId === watch.id && range.next < startBlock && (range.joins || startBlock <= range.to);
      if (!isDivided) return [range];
      const earlier = { ...range, to: Math.min(startBlock - 1, tip), joins: false };
      const later = { ...range, from: startBlock, next: startBlock };
      return earlier.next <= earlier.to ? [earlier, later] : [later];
    });
    const joined = joinNeighbours(backfills, { id: watch.id, wantedFrom: startBlock });
    return setWatchesUpTo(position)({ ...progress, backfills: joined });
  };
