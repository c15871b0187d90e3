import type { WatchStatus } from '../../../../schemas/http/event-catcher/watched-contract.ts';
import type {
  AsideDocument,
  ChainDocument,
  VerificationDocument,
} from '../../../../shared/read-models/event-catcher/chains.ts';
import { isStopped, type WatchDocument } from '../../../../shared/read-models/event-catcher/watches.ts';

type Watched = Pick<WatchDocument, 'id' | 'startBlock' | 'readSince' | 'isRemoved' | 'paused'>;
type VerifiedChain = Pick<VerificationDocument, 'verified' | 'behind' | 'skipped' | 'watchesUpTo'>;
type ReadChain = Pick<ChainDocument, 'backfills' | 'watchesUpTo' | 'head'>;

export interface WatchProgress {
  state: 'backfilling' | 'live' | 'paused';
  /** Everything up to this block has been read, except the gaps. */
  currentBlockNumber: number;
  /** How many blocks are left to read before the watch is live. */
  blocksLeft: number;
  /** Unread ranges before the current block, both ends included, in block order. */
  gaps: WatchStatus['gaps'];
}

/** The reason given for blocks that no provider refused: the start of the watch was moved back to them. */
const TO_READ = 'not read yet';

/** What the operator can do about gaps; `null` if there are none. */
export const gapAdvice = (gaps: WatchStatus['gaps']): string | null => {
  const [gap] = gaps.filter(({ since }) => since !== null);
  if (!gap) return null;
  const { fromBlock, toBlock, reason } = gap;
  const blocks = `blocks ${String(fromBlock)} to ${String(toBlock)} are missing: ${reason}`;
  return `${blocks}: add an endpoint that has them to "rpcUrls" of this chain in CHAINS`;
};

/**
 * Adds deferred ranges to the ranges of their chain: they are unread, too. Once the progress of the chain lists a range
 * again, it is left out here.
 */
export const withDeferred = <Chain extends ReadChain & { position: number }>(
  chain: Chain,
  deferred: ReadonlyMap<string, AsideDocument>,
): Chain => {
  const ranges = Array.from(deferred, ([id, { ranges, takenUp }]) =>
    takenUp === null || takenUp > chain.position ? ranges.map((range) => ({ watchIds: [id], ...range })) : [],
  );
  return { ...chain, backfills: [...ranges.flat(), ...chain.backfills] };
};

/** How far a watch has been read. A watch that the follower has not added yet is backfilling. */
export const progressOf = (watch: Watched, chain: ReadChain | undefined): WatchProgress => {
  const read = readProgress(watch, chain);
  return isStopped(watch) ? { ...read, state: 'paused' } : read;
};

const readProgress = ({ id, startBlock, readSince }: Watched, chain: ReadChain | undefined): WatchProgress => {
  const ranges = chain?.backfills.filter(({ watchIds }) => watchIds.includes(id)) ?? [];
  // Nobody wants a range that ends before the start block. Until the next progress is stored, a range that was just
  // deferred is in both lists.
  const unread = new Map(
    ranges.filter(({ joins, to }) => !joins && to >= startBlock).map((range) => [range.to, range]),
  );
  const gaps = Array.from(unread.values(), ({ next, to, gap }) => ({
    fromBlock: Math.max(startBlock, next),
    toBlock: to,
    reason: gap?.reason ?? TO_READ,
    since: gap?.since ?? null,
  })).sort((left, right) => left.fromBlock - right.fromBlock);
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

/** The block up to which everything of a watch has been read: the one before its first gap. -1 if there is none. */
export const readUpTo = ({ currentBlockNumber, gaps }: Pick<WatchProgress, 'currentBlockNumber' | 'gaps'>): number =>
  Math.min(currentBlockNumber, ...gaps.map(({ fromBlock }) => fromBlock - 1));

/** The block up to which a watch is verified from its start block on; `null` if none is. */
export const verifiedBlockOf = (
  { id, startBlock, createdPosition }: Watched & Pick<WatchDocument, 'createdPosition'>,
  verification: VerifiedChain | undefined,
  progress: Pick<WatchProgress, 'currentBlockNumber' | 'gaps'>,
): number | null => {
  if (!verification || verification.watchesUpTo < createdPosition) return null;
  const { behind, skipped = [] } = verification;
  const isOfIt = ({ watchIds }: { watchIds: readonly string[] }) => watchIds.includes(id);
  const unverified = [...behind, ...skipped.filter(({ to }) => to >= startBlock)].filter(isOfIt);
  const verified = Math.min(verification.verified, ...unverified.map(({ next }) => next - 1));
  // The verification may not know of an extension backwards yet.
  const block = Math.min(verified, readUpTo(progress));
  return block < startBlock ? null : block;
};
