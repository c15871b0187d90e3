import type { BlocksGap } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { setWatchesUpTo, takeUp, type Transition } from './chain-progress.ts';
import { findRange, lastBlockOf, type CoveredWatch, type Range } from './coverage.ts';
import { tipOf } from './window.ts';

/**
 * Turns blocks `range.next`…`to` into a gap, or appends them to a wanted gap that ends at `range.next - 1`. The range continues at
 * `to + 1`.
 */
export const leaveGap =
  (range: Range, { to, gap }: { to: number; gap: BlocksGap }, { wantedFrom }: { wantedFrom: number }): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    const now = findRange(progress, range);
    if (now?.next !== range.next || to < now.next || to > lastBlockOf(window, now))
      throw new Error(`blocks ${String(range.next)} to ${String(to)} are not the next ones of ${range.watchId}`);
    const before = backfills.find(
      (one) => one.gap && one.watchId === now.watchId && one.to === now.next - 1 && one.to >= wantedFrom,
    );
    const left = before
      ? { ...before, to }
      : { watchId: now.watchId, from: now.next, next: now.next, to, joins: false, gap };
    const rest = now.joins || to < now.to ? [{ ...now, next: to + 1 }] : [];
    const others = backfills.filter((one) => one !== before);
    return { ...progress, backfills: others.flatMap((one) => (one === now ? [left, ...rest] : [one])) };
  };

/**
 * Moves the start of a watch to a block that is not before its earliest start (for that, `extendWatch`). Splits the range that crosses
 * `startBlock`, so that every range is wanted or unwanted as a whole.
 */
export const splitAtStart =
  (watch: CoveredWatch, startBlock: number, position: Position): Transition =>
  (before) => {
    const progress = takeUp([watch.id])(before);
    const tip = tipOf(progress.window).number;
    const backfills = progress.backfills.flatMap((range) => {
      const isDivided =
        range.watchId === watch.id && range.next < startBlock && (range.joins || startBlock <= range.to);
      if (!isDivided) return [range];
      const earlier = { ...range, to: Math.min(startBlock - 1, tip), joins: false };
      const later = { ...range, from: startBlock, next: startBlock };
      return earlier.next <= earlier.to ? [earlier, later] : [later];
    });
    return setWatchesUpTo(position)({ ...progress, backfills });
  };
