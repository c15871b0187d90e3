import type { Position } from '../../../shared/event-store/event-store.ts';
import { blocksToExtend, take, takeExtension, takeUpTo, type ChainProgress } from '../domain/chain-progress.ts';
import { readWindow } from './block-logs.ts';
import type { FollowedChain } from './followed-chain.ts';
import type { Change, Steps } from './store-changes/chain-writer.ts';
import type { WatchChange } from './watches.ts';

/**
 * Takes what was registered, in its order, while there is room for ranges.
 * @param upTo position up to which nothing else was registered
 * @returns what has to wait
 */
export async function* takeWatches(
  progress: ChainProgress,
  { changes, upTo }: { changes: readonly WatchChange[]; upTo: Position },
  chain: FollowedChain,
): Steps<readonly WatchChange[]> {
  let now = progress;
  for (const [at, change] of changes.entries()) {
    if (now.backfills.length >= chain.rangesMax) return changes.slice(at);
    now = yield await takeOne(now, change, chain);
  }
  if (upTo > now.watchesUpTo) yield { transition: takeUpTo(upTo) };
  return [];
}

const takeOne = async (
  progress: ChainProgress,
  change: WatchChange,
  { reader, watches }: FollowedChain,
): Promise<Change> => {
  const { kind, position } = change;
  const taken = watches.at(progress);
  if (kind === 'registered') {
    return { transition: taken.has(change.watch.id) ? takeUpTo(position) : take(change.watch, position) };
  }
  const watch = taken.get(change.watchId);
  const { startBlock } = change;
  if (!watch || startBlock >= watch.startBlock) return { transition: takeUpTo(position) };
  const blocks = blocksToExtend(progress, watch, startBlock);
  return {
    ...(await readWindow(reader, blocks, { ...watch, startBlock })),
    transition: takeExtension(watch, startBlock, position),
  };
};
