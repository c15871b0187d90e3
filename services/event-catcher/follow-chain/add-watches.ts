import type { Position } from '../../../shared/event-store/event-store.ts';
import {
  addWatch,
  blocksToExtend,
  extendWatch,
  setWatchesUpTo,
  stopWatch,
  type ChainProgress,
} from '../domain/chain-progress.ts';
import { readIn, readWindow } from './block-logs.ts';
import type { FollowedChain } from './followed-chain.ts';
import { hasRoom } from './ranges-to-read.ts';
import type { Change, Steps } from './store-changes/chain-writer.ts';
import { changed, type WatchChange } from './watches.ts';

/**
 * Takes what happened to watches into account, in order, while there is room for ranges.
 * @param upTo position up to which nothing else happened
 * @returns the changes that have to wait
 */
export async function* addWatches(
  progress: ChainProgress,
  { changes, upTo }: { changes: readonly WatchChange[]; upTo: Position },
  chain: FollowedChain,
): Steps<readonly WatchChange[]> {
  let now = progress;
  for (const [at, change] of changes.entries()) {
    if (!hasRoom(now, chain)) return changes.slice(at);
    now = yield await changeFor(now, change, chain);
  }
  if (upTo > now.watchesUpTo) yield { transition: setWatchesUpTo(upTo) };
  return [];
}

const changeFor = async (
  progress: ChainProgress,
  change: WatchChange,
  { reader, watches }: FollowedChain,
): Promise<Change> => {
  const { position } = change;
  const watch = watches.at(progress).get(change.watchId);
  const after = changed(watch, change);
  if (!after) return { transition: setWatchesUpTo(position) };
  if (!watch) return { transition: addWatch(after, position) };
  if (after.isStopped && !watch.isStopped) return { transition: stopWatch(watch, position) };
  const { startBlock } = after;
  if (startBlock >= watch.startBlock) return { transition: setWatchesUpTo(position) };
  const blocks = blocksToExtend(progress, watch, startBlock);
  return {
    ...readIn(blocks, [after], await readWindow(reader, blocks, [after])),
    transition: extendWatch(watch, startBlock, position),
  };
};
