import type { BackfillRange } from '../../../schemas/events/chain-events.ts';
import type { CoveredWatch } from './coverage.ts';

/** A watch, with the position of its registration. */
type Watched = CoveredWatch & { readonly createdPosition: number };
interface ReadChain {
  readonly backfills: readonly BackfillRange[];
  readonly watchesUpTo: number;
  readonly head: number;
}

export interface WatchProgress {
  state: 'backfilling' | 'live';
  /** Everything up to this block has been read, except the gaps. */
  currentBlockNumber: number;
  /** How many blocks are to be read before the watch is live. */
  blocksLeft: number;
  /** Ranges before the current block that are still to be read, both ends included. */
  gaps: { from: number; to: number }[];
}

/** How far a watch was read. A watch that the follower has not added yet is backfilling. */
export const progressOf = (watch: Watched, chain: ReadChain | undefined): WatchProgress => {
  if (!chain || chain.watchesUpTo < watch.createdPosition) return backfilling(watch.startBlock, chain?.head ?? -1, []);
  const ranges = chain.backfills.filter(({ watchIds }) => watchIds.includes(watch.id));
  const gaps = ranges.filter(({ joins }) => !joins).map(({ next, to }) => ({ from: next, to }));
  const joining = ranges.find(({ joins }) => joins);
  if (joining) return backfilling(joining.next, joining.to, gaps);
  return { state: 'live', currentBlockNumber: chain.head, blocksLeft: 0, gaps };
};

const backfilling = (next: number, to: number, gaps: WatchProgress['gaps']): WatchProgress => ({
  state: 'backfilling',
  currentBlockNumber: Math.max(0, next - 1),
  blocksLeft: Math.max(0, to - next + 1),
  gaps,
});
