import type { ChainProgress } from '../domain/chain-progress.ts';
import type { Range } from '../domain/coverage.ts';
import type { FollowedChain } from './followed-chain.ts';
import { belongsTo } from './watched-event.ts';

type Known = Pick<FollowedChain, 'watches' | 'records'>;

/**
 * Whether a range is to be read now. That of a stopped watch is not, unless an earlier follower has stored records of it: as long
 * as they are unconfirmed, no progress is stored.
 */
export const isToRead = (range: Range, progress: ChainProgress, known: Known): boolean => {
  const watch = known.watches.of(progress, range.watchId);
  return !known.watches.now(watch.id)?.isStopped || hasUnconfirmedIn(range, progress, known);
};

const hasUnconfirmedIn = (range: Range, progress: ChainProgress, { watches, records }: Known): boolean => {
  const { unconfirmed } = records;
  if (unconfirmed.length === 0) return false;
  const watch = watches.of(progress, range.watchId);
  const to = range.joins ? Infinity : range.to;
  return unconfirmed.some(
    (record) => range.next <= record.BlockNumber && record.BlockNumber <= to && belongsTo(watch, record),
  );
};

/** Whether blocks that are still to be read have records that an earlier follower has stored. */
export const hasUnconfirmed = (ranges: readonly Range[], progress: ChainProgress, known: Known): boolean =>
  ranges.some((range) => hasUnconfirmedIn(range, progress, known));

/** Whether nothing is read of a watch with these ranges, and need not be: it is stopped. */
export const isIdle = (watchId: string, ranges: readonly Range[], progress: ChainProgress, known: Known): boolean =>
  known.watches.now(watchId)?.isStopped === true && !hasUnconfirmed(ranges, progress, known);
