import type { ChainDocument } from '../../../shared/read-models/chains.ts';
import type { WatchDocument } from '../../../shared/read-models/watches.ts';

type Watched = Pick<WatchDocument, 'id' | 'startBlock' | 'createdPosition'>;
type Chain = Pick<ChainDocument, 'head' | 'backfills' | 'watchesUpTo'>;

export interface WatchProgress {
  state: 'backfilling' | 'live';
  /** Everything up to this block has been read, but for the gaps. */
  currentBlockNumber: number;
  /** Blocks until live. */
  blocksLeft: number;
  /** Blocks before the current one that are still to be read, inclusive. */
  gaps: { from: number; to: number }[];
}

/** How far a watch has come. One that the follower has not taken yet is backfilling. */
export const progressOf = (watch: Watched, chain: Chain | undefined): WatchProgress => {
  const ranges = chain?.backfills.filter(({ watchId }) => watchId === watch.id) ?? [];
  const joining = ranges.filter(({ joins }) => joins);
  const gaps = ranges.filter(({ joins }) => !joins).map(({ next, to }) => ({ from: next, to }));
  if (!chain || chain.watchesUpTo < watch.createdPosition) {
    const blocksLeft = chain ? Math.max(0, chain.head - watch.startBlock + 1) : 0;
    return { state: 'backfilling', currentBlockNumber: Math.max(0, watch.startBlock - 1), blocksLeft, gaps };
  }
  if (joining.length === 0) return { state: 'live', currentBlockNumber: chain.head, blocksLeft: 0, gaps };
  const next = Math.min(...joining.map((range) => range.next));
  const blocksLeft = joining.reduce((sum, range) => sum + Math.max(0, range.to - range.next + 1), 0);
  return { state: 'backfilling', currentBlockNumber: Math.max(0, next - 1), blocksLeft, gaps };
};
