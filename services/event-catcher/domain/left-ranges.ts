import type { BlocksGap } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { setWatchesUpTo, takeUp, type Transition } from './chain-progress.ts';
import { findRange, lastBlockOf, type CoveredWatch, type Range } from './coverage.ts';
import { tipOf } from './window.ts';

/**
 * The next blocks of a range, up to this one, cannot be read: they become a range of their own, or join one that ends before them,
 * and the rest goes on behind them.
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
 * A watch is wanted from another block on, not from before the first one that it ever had: no range has that block and one before
 * it any more, so that each is wanted, or not, as a whole.
 */
export const moveStart =
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
