import type { ChainProgress } from '../../domain/chain-progress.ts';
import { isUnwanted, type Range } from '../../domain/backfill/coverage.ts';
import type { FollowedChain } from '../followed-chain.ts';
import { belongsTo } from '../watches/watched-event.ts';

type Known = Pick<FollowedChain, 'watches' | 'records'>;

/**
 * Whether a range of blocks is read now. It is not if its watch is stopped, if nobody wants its blocks, or if it
 * extends a watch to earlier blocks before the watch's first backfill is finished: the extension must not use up the
 * maximum of the first backfill. But a range with unconfirmed records, which an earlier follower stored after its last
 * checkpoint, is always read: no checkpoint is stored before these records are confirmed.
 */
export const isToRead = (range: Range, progress: ChainProgress, known: Known): boolean => {
  const watch = known.watches.get(progress, range.watchId);
  const waits =
    known.watches.now(watch.id)?.isStopped === true ||
    isUnwanted(range, watch) ||
    (!range.joins && joiningIn(progress).has(watch.id));
  return !waits || hasUnconfirmedIn(range, progress, known);
};

const joining = new WeakMap<readonly Range[], ReadonlySet<string>>();

/** Returns the ids of watches that are not read at the head yet, because their backfill is not finished. */
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
  const watch = watches.get(progress, range.watchId);
  const to = range.joins ? Infinity : range.to;
  return unconfirmed.some(
    (record) => range.next <= record.BlockNumber && record.BlockNumber <= to && belongsTo(watch, record),
  );
};

/** Whether the ranges' unread blocks have records that an earlier follower stored after its last checkpoint. */
export const hasUnconfirmed = (ranges: readonly Range[], progress: ChainProgress, known: Known): boolean =>
  ranges.some((range) => hasUnconfirmedIn(range, progress, known));

/**
 * Whether nothing of a watch is to be read, so that its ranges need no slot: it is stopped, or nobody wants the unread
 * blocks, and these blocks have no unconfirmed records, which would have to be read again.
 */
export const isIdle = (watchId: string, ranges: readonly Range[], progress: ChainProgress, known: Known): boolean => {
  const watch = known.watches.at(progress).get(watchId);
  const isUnread =
    known.watches.now(watchId)?.isStopped === true ||
    (watch !== undefined && ranges.every((range) => isUnwanted(range, watch)));
  return isUnread && !hasUnconfirmed(ranges, progress, known);
};
