import type { Position } from '../../../shared/event-store/event-store.ts';
import { addWatch, extendWatch, setWatchesUpTo, stopWatch, type ChainProgress } from '../domain/chain-progress.ts';
import type { FollowedChain } from './followed-chain.ts';
import { hasRoom } from './ranges-to-read.ts';
import type { Change, SyncSteps } from './store-changes/chain-writer.ts';
import { changed, type WatchChange } from './watches.ts';

/**
 * Takes what happened to watches into account, in order, while there is room for ranges.
 * @param upTo position up to which nothing else happened
 * @returns the changes that have to wait
 */
export function* addWatches(
  progress: ChainProgress,
  { changes, upTo }: { changes: readonly WatchChange[]; upTo: Position },
  chain: FollowedChain,
): SyncSteps<readonly WatchChange[]> {
  let now = progress;
  for (const [at, change] of changes.entries()) {
    if (!hasRoom(now, chain)) return changes.slice(at);
    now = yield changeFor(now, change, chain);
  }
  if (upTo > now.watchesUpTo) yield { transition: setWatchesUpTo(upTo) };
  return [];
}

const changeFor = (progress: ChainProgress, change: WatchChange, { watches }: FollowedChain): Change => {
  const { position } = change;
  const watch = watches.at(progress).get(change.watchId);
  const after = changed(watch, change);
  if (!after) return { transition: setWatchesUpTo(position) };
  if (!watch) return { transition: addWatch(after, position) };
  if (after.isStopped && !watch.isStopped) return { transition: stopWatch(watch, position) };
  const { startBlock } = after;
  if (startBlock >= watch.startBlock) return { transition: setWatchesUpTo(position) };
  return { transition: extendWatch(watch, startBlock, position) };
};
