import type { Position } from '../../../shared/event-store/event-store.ts';
import { blocksToExtend, addWatch, extendWatch, setWatchesUpTo, type ChainProgress } from '../domain/chain-progress.ts';
import { readIn, readWindow } from './block-logs.ts';
import type { FollowedChain } from './followed-chain.ts';
import type { Change, Steps } from './store-changes/chain-writer.ts';
import type { WatchChange } from './watches.ts';

/**
 * Adds the watches that were registered or extended, in order, while there is room for ranges.
 * @param upTo position up to which nothing else was registered
 * @returns the changes that have to wait
 */
export async function* addWatches(
  progress: ChainProgress,
  { changes, upTo }: { changes: readonly WatchChange[]; upTo: Position },
  chain: FollowedChain,
): Steps<readonly WatchChange[]> {
  let now = progress;
  for (const [at, change] of changes.entries()) {
    if (now.backfills.length >= chain.rangesMax) return changes.slice(at);
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
  const { kind, position } = change;
  const added = watches.at(progress);
  if (kind === 'registered') {
    return { transition: added.has(change.watch.id) ? setWatchesUpTo(position) : addWatch(change.watch, position) };
  }
  const watch = added.get(change.watchId);
  const { startBlock } = change;
  if (!watch || startBlock >= watch.startBlock) return { transition: setWatchesUpTo(position) };
  const blocks = blocksToExtend(progress, watch, startBlock);
  const extended = [{ ...watch, startBlock }];
  return {
    ...readIn(blocks, extended, await readWindow(reader, blocks, extended)),
    transition: extendWatch(watch, startBlock, position),
  };
};
