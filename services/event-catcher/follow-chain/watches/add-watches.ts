import type { Position } from '../../../shared/event-store/event-store.ts';
import {
  addWatch,
  extendWatch,
  setAside,
  setWatchesUpTo,
  stopWatch,
  type ChainProgress,
  type Transition,
} from '../domain/chain-progress.ts';
import { splitAtStart } from '../domain/left-ranges.ts';
import type { FollowedChain } from './followed-chain.ts';
import { isIdle } from './ranges-to-read.ts';
import type { SyncSteps } from './store-changes/chain-writer.ts';
import { changed, type WatchChange } from './watches.ts';

const CHANGES_AT_ONCE = 1_000;

/**
 * Takes what happened to watches into account, in order. What has no place among the ranges that are read is set aside, so that
 * nothing has to wait here.
 * @param upTo position up to which nothing else happened
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
  const { position } = change;
  const watch = watches.at(progress).get(change.watchId);
  const after = changed(watch, change);
  if (!after) return setWatchesUpTo(position);
  if (!watch) return addWatch(after, position);
  if (after.isStopped && !watch.isStopped) return stopWatch(watch, position);
  if (change.kind !== 'moved') return setWatchesUpTo(position);
  const { startBlock } = change;
  return (startBlock < watch.startBlock ? extendWatch : splitAtStart)(watch, startBlock, position);
};

/** Sets aside what is not read of the watches that changed, and, of the newest first, what is too much. */
const placed = (progress: ChainProgress, changes: readonly WatchChange[], chain: FollowedChain): ChainProgress => {
  const ids = new Set(changes.map(({ watchId }) => watchId));
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
  return away.length > 0 ? setAside(away.map(([id]) => id))(progress) : progress;
};
