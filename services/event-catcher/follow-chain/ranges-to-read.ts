import type { ChainProgress } from '../domain/chain-progress.ts';
import type { Range } from '../domain/coverage.ts';
import type { FollowedChain } from './followed-chain.ts';
import { belongsTo } from './watched-event.ts';

/**
 * Whether a range is to be read now. That of a stopped watch is not, unless an earlier follower has stored records of it: as long
 * as they are unconfirmed, no progress is stored.
 */
export const isToRead = (
  range: Range,
  progress: ChainProgress,
  { watches, records }: Pick<FollowedChain, 'watches' | 'records'>,
): boolean => {
  const watch = watches.of(progress, range.watchId);
  if (!watches.now(watch.id)?.isStopped) return true;
  const to = range.joins ? Infinity : range.to;
  return records.unconfirmed.some(
    (record) => range.next <= record.BlockNumber && record.BlockNumber <= to && belongsTo(watch, record),
  );
};

/** With those of stopped watches, `ChainAdvanced` must still fit into one append. */
const STOPPED_RANGES_MAX = 1_500;

/** Whether there is room for one more range. Nobody waits until those of stopped watches are finished, unless they are too many. */
export const hasRoom = (
  { backfills }: Pick<ChainProgress, 'backfills'>,
  { watches, rangesMax }: Pick<FollowedChain, 'watches' | 'rangesMax'>,
): boolean => {
  if (backfills.length < rangesMax) return true;
  if (backfills.length >= rangesMax + STOPPED_RANGES_MAX) return false;
  return backfills.filter(({ watchId }) => !watches.now(watchId)?.isStopped).length < rangesMax;
};
