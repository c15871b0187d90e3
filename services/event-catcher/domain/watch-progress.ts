import type { BackfillRange } from '../../../schemas/events/chain-events.ts';
import type { AsideDocument } from '../../../shared/read-models/chains.ts';
import { isStopped, type WatchDocument } from '../../../shared/read-models/watches.ts';

type Watched = Pick<WatchDocument, 'id' | 'startBlock' | 'readSince' | 'isRemoved' | 'paused'>;
interface VerifiedChain {
  readonly verified: number;
  readonly behind: readonly { watchIds: readonly string[]; next: number }[];
  readonly watchesUpTo: number;
}
interface ReadChain {
  readonly backfills: readonly BackfillRange[];
  readonly watchesUpTo: number;
  readonly head: number;
}

export interface WatchProgress {
  state: 'backfilling' | 'live' | 'paused';
  /** Everything up to this block has been read, except the gaps. */
  currentBlockNumber: number;
  /** How many blocks are to be read before the watch is live. */
  blocksLeft: number;
  /** Ranges before the current block that are still to be read, both ends included. */
  gaps: { from: number; to: number }[];
}

/** What is set aside of watches is still to be read, too, until the progress of their chain has it again. */
export const withAside = <Chain extends ReadChain & { position: number }>(
  chain: Chain,
  aside: ReadonlyMap<string, AsideDocument>,
): Chain => {
  const ranges = Array.from(aside, ([id, { ranges, takenUp }]) =>
    takenUp === null || takenUp > chain.position ? ranges.map((range) => ({ watchIds: [id], ...range })) : [],
  );
  return { ...chain, backfills: [...ranges.flat(), ...chain.backfills] };
};

/** How far a watch was read. A watch that the follower has not added yet is backfilling. */
export const progressOf = (watch: Watched, chain: ReadChain | undefined): WatchProgress => {
  const read = readProgress(watch, chain);
  return isStopped(watch) ? { ...read, state: 'paused' } : read;
};

const readProgress = ({ id, startBlock, readSince }: Watched, chain: ReadChain | undefined): WatchProgress => {
  const ranges = chain?.backfills.filter(({ watchIds }) => watchIds.includes(id)) ?? [];
  // Until the next progress is stored, what has been set aside is in it as well.
  const ends = new Map(ranges.filter(({ joins }) => !joins).map((range) => [range.to, range.next]));
  const gaps = Array.from(ends, ([to, from]) => ({ from, to }));
  const joining = ranges.find(({ joins }) => joins);
  if (joining) return backfilling(joining.next, joining.to, gaps);
  if (!chain || chain.watchesUpTo < readSince) return backfilling(startBlock, chain?.head ?? -1, gaps);
  return { state: 'live', currentBlockNumber: chain.head, blocksLeft: 0, gaps };
};

const backfilling = (next: number, to: number, gaps: WatchProgress['gaps']): WatchProgress => ({
  state: 'backfilling',
  currentBlockNumber: Math.max(0, next - 1),
  blocksLeft: Math.max(0, to - next + 1),
  gaps,
});

/** The block up to which a watch was verified from its start block on; `null` if that is none. */
export const verifiedBlockOf = (
  { id, startBlock, createdPosition }: Watched & Pick<WatchDocument, 'createdPosition'>,
  verification: VerifiedChain | undefined,
  { currentBlockNumber, gaps }: Pick<WatchProgress, 'currentBlockNumber' | 'gaps'>,
): number | null => {
  if (!verification || verification.watchesUpTo < createdPosition) return null;
  const behind = verification.behind.find(({ watchIds }) => watchIds.includes(id));
  const verified = behind ? behind.next - 1 : verification.verified;
  // An extension backwards may not be known to the verification yet.
  const read = Math.min(currentBlockNumber, ...gaps.map(({ from }) => from - 1));
  const block = Math.min(verified, read);
  return block < startBlock ? null : block;
};
