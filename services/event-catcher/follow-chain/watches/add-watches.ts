import type { Position } from '../../../../shared/event-store/event-store.ts';
import {
  addWatch,
  extendWatch,
  defer,
  setWatchesUpTo,
  stopWatch,
  type ChainProgress,
  type Transition,
} from '../../domain/chain-progress.ts';
import { splitAtStart } from '../../domain/backfill/left-ranges.ts';
import type { FollowedChain } from '../followed-chain.ts';
import { isIdle } from '../backfill/ranges-to-read.ts';
import type { SyncSteps } from '../stored-changes/chain-writer.ts';
import type { WatchChange } from './watches.ts';

const CHANGES_AT_ONCE = 1_000;

/**
 * Adds registered watches to the progress of a chain, and applies later changes to these watches, in order. Unread
 * ranges for which there is no slot are deferred, so that no change has to wait.
 * @param upTo event-store position up to which there are no other changes
 */
export function* addWatches(
  progress: ChainProgress,
  { changes, upTo }: { changes: readonly WatchChange[]; upTo: Position },
  chain: FollowedChain,
): SyncSteps {
  let now = progress;
  for (let at = 0; at < changes.length; at += CHANGES_AT_ONCE) {
    const some = changes.slice(at, at + CHANGES_AT_ONCE);
    now = yield {
      transition: (before) =>
        placed(
          some.reduce((one, next) => after(one, next, chain), before),
          some,
          chain,
        ),
    };
  }
  if (upTo > now.watchesUpTo) yield { transition: setWatchesUpTo(upTo) };
}

const after = (progress: ChainProgress, change: WatchChange, chain: FollowedChain): ChainProgress =>
  transitionFor(progress, change, chain)(progress);

const transitionFor = (progress: ChainProgress, change: WatchChange, { watches }: FollowedChain): Transition => {
  const { position, watch: after } = change;
  if (!after) return setWatchesUpTo(position);
  const watch = watches.at(progress).get(after.id);
  if (!watch) return addWatch(after, position);
  if (after.isStopped && !watch.isStopped) return stopWatch(watch, position);
  const { wantedFrom } = after;
  if (wantedFrom === watch.wantedFrom) return setWatchesUpTo(position);
  return (wantedFrom < watch.startBlock ? extendWatch : splitAtStart)(watch, wantedFrom, position);
};

/**
 * Defers the ranges of changed watches, newest first, until at most `rangesMax` ranges are left. Also defers the ranges
 * of every changed watch that has nothing to read now.
 */
const placed = (progress: ChainProgress, changes: readonly WatchChange[], chain: FollowedChain): ChainProgress => {
  const ids = new Set(changes.map(({ data }) => data.watchId));
  const theirs = Map.groupBy(
    progress.backfills.filter(({ watchId }) => ids.has(watchId)),
    ({ watchId }) => watchId,
  );
  let over = progress.backfills.length - chain.rangesMax;
  const away = Array.from(theirs)
    .toReversed()
    .filter(([id, ranges]) => {
      const isAway = over > 0 || isIdle(id, ranges, progress, chain);
      if (isAway) over -= ranges.length;
      return isAway;
    });
  return away.length > 0 ? defer(away.map(([id]) => id))(progress) : progress;
};
