import type { BackfillRange } from '../../../schemas/events/chain-events.ts';
import type { AsideDocument } from '../../../shared/read-models/chains.ts';
import { isStopped, type WatchDocument } from '../../../shared/read-models/watches.ts';

type Watched = Pick<WatchDocument, 'id' | 'startBlock' | 'readSince' | 'isRemoved' | 'paused'>;
interface VerifiedChain {
  readonly verified: number;
  readonly behind: readonly { watchIds: readonly string[]; next: number }[];
  readonly skipped?: readonly { watchIds: readonly string[]; next: number; to: number }[];
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
  /** Ranges before the current block that are not read, both ends included, in their order. */
  gaps: WatchGap[];
}

export interface WatchGap {
  fromBlock: number;
  toBlock: number;
  reason: string;
  /** `null`: they are still to be read. */
  since: string | null;
}

/** The reason of unread blocks that no provider has refused for good: the start of the watch was moved back to them. */
const TO_READ = 'not read yet';

/** What an operator can do about blocks that no provider gives; `null` if there are none. */
export const gapAdvice = (gaps: readonly WatchGap[]): string | null => {
  const [gap] = gaps.filter(({ since }) => since !== null);
  if (!gap) return null;
  const { fromBlock, toBlock, reason } = gap;
  const blocks = `blocks ${String(fromBlock)} to ${String(toBlock)} are missing: ${reason}`;
  return `${blocks}: add an endpoint that has them to "rpcUrls" of this chain in CHAINS`;
};

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
  // Nobody wants what ends before the start block. Until the next progress is stored, what has been set aside is in it as well.
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

/** The block up to which a watch was verified from its start block on; `null` if that is none. */
export const verifiedBlockOf = (
  { id, startBlock, createdPosition }: Watched & Pick<WatchDocument, 'createdPosition'>,
  verification: VerifiedChain | undefined,
  { currentBlockNumber, gaps }: Pick<WatchProgress, 'currentBlockNumber' | 'gaps'>,
): number | null => {
  if (!verification || verification.watchesUpTo < createdPosition) return null;
  const { behind, skipped = [] } = verification;
  const isOfIt = ({ watchIds }: { watchIds: readonly string[] }) => watchIds.includes(id);
  const unverified = [...behind, ...skipped.filter(({ to }) => to >= startBlock)].filter(isOfIt);
  const verified = Math.min(verification.verified, ...unverified.map(({ next }) => next - 1));
  // An extension backwards may not be known to the verification yet.
  const read = Math.min(currentBlockNumber, ...gaps.map(({ fromBlock }) => fromBlock - 1));
  const block = Math.min(verified, read);
  return block < startBlock ? null : block;
};
