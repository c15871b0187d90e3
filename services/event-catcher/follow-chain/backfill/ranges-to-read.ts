import type { ChainProgress } from '../domain/chain-progress.ts';
import { isUnwanted, type Range } from '../domain/coverage.ts';
import type { FollowedChain } from './followed-chain.ts';
import { belongsTo } from './watched-event.ts';

type Known = Pick<FollowedChain, 'watches' | 'records'>;

/**
 * Whether a range is read now: not if its watch is stopped, nobody wants its blocks, or it extends a watch backwards that is not live
 * yet (an extension must not use up the limits of the first backfill). A range with unconfirmed records of an earlier follower is read
 * regardless, because no progress is stored until they are confirmed.
 */
export const isToRead = (range: Range, progress: ChainProgress, known: Known): boolean => {
  const watch = known.watches.of(progress, range.watchId);
  const waits =
    known.watches.now(watch.id)?.isStopped === true ||
    isUnwanted(range, watch) ||
    (!range.joins && joiningIn(progress).has(watch.id));
  return !waits || hasUnconfirmedIn(range, progress, known);
};

const joining = new WeakMap<readonly Range[], ReadonlySet<string>>();

/** The watches that are not live yet. */
const joiningIn = ({ backfills }: ChainProgress): ReadonlySet<string> => {
  const known = joining.get(backfills);
  if (known) return known;
  const ids = new Set(backfills.filter(({ joins }) => joins).map(({ watchId }) => watchId));
  joining.set(backfills, ids);
  return ids;
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

/** Whether nothing is read of a watch with these ranges, and need not be: it is stopped, or nobody wants what is not read. */
export const isIdle = (watchId: string, ranges: readonly Range[], progress: ChainProgress, known: Known): boolean => {
  const watch = known.watches.at(progress).get(watchId);
  const isUnread =
    known.watches.now(watchId)?.isStopped === true ||
    (watch !== undefined && ranges.every((range) => isUnwanted(range, watch)));
  return isUnread && !hasUnconfirmed(ranges, progress, known);
};
