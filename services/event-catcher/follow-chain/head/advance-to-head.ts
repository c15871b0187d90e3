import { ChainUnavailable, type BlockHeader } from '../../../shared/chain/chain-reader.ts';
import {
  advance,
  fallBehind,
  rewind,
  setAside,
  skipAhead,
  type ChainProgress,
  type Transition,
} from '../domain/chain-progress.ts';
import { classifyHeader, splitAfter, isFarAhead, tipOf, WALK_BLOCKS_MAX } from '../domain/window.ts';
import { readBlock } from './block-logs.ts';
import type { FollowedChain } from './followed-chain.ts';
import { finalBlockError, revertOrphans, unconfirmedInWindow, windowUpTo } from './reconcile.ts';
import type { Change, Steps, SyncSteps } from './store-changes/chain-writer.ts';

/** How many missing headers are requested at a time. */
const HEADERS_AT_ONCE = 50;
const STEPS_MAX = 5_000;

/**
 * Advances to a head block by block. If it is far ahead, skips to it and leaves the blocks between to backfills; if
 * there is no room for more ranges, walks only as far as is walked in one go.
 */
export async function* advanceToHead(progress: ChainProgress, head: BlockHeader, chain: FollowedChain): Steps {
  let now = chain.isDevelopment ? yield* rewindToOlderHead(progress, head, chain) : progress;
  let target = head;
  if (isFarAhead(now.window, chain.finality.at(head.number))) {
    if (canSkipAhead(now, chain)) now = yield* skipAheadTo(yield* revertOrphans(now, chain), head, chain);
    else target = await headerAt(chain, tipOf(now.window).number + WALK_BLOCKS_MAX);
  }
  yield* walkTo(now, target, chain);
}

/**
 * Extends the window to a header, after all headers that must come before it. Each block comes with the records that
 * the live watches have in it.
 */
async function* walkTo(progress: ChainProgress, head: BlockHeader, chain: FollowedChain): Steps {
  let now = progress;
  const pending = [head];
  for (let step = 0; ; step += 1) {
    if (step > STEPS_MAX) throw new ChainUnavailable('the chain changes faster than it can be followed');
    const header = pending.at(-1);
    if (!header) {
      yield* confirmWindow(now, chain);
      return;
    }
    const relation = classifyHeader(now.window, header);
    switch (relation.kind) {
      case 'extension':
        now = yield* confirmWindow(now, chain);
        now = yield await extension(now, header, chain);
        pending.pop();
        break;
      case 'reorganisation':
        now = yield* rewindTo(now, header.parentHash, chain);
        break;
      case 'gap':
        pending.push(...(await headersOf(chain, firstNumbers(relation))));
        break;
      case 'fork':
        pending.push(await parentOf(chain, header));
        break;
      case 'deeper-than-finality':
        throw finalBlockError(chain, header);
      case 'invalid':
        throw new ChainUnavailable(`block ${header.hash} has a number that does not follow its parent's`);
      case 'duplicate':
        pending.pop();
    }
  }
}

/** The window is that of the chain, as far as it has been walked: what an earlier follower stored in it, or reverted, is observed. */
function* confirmWindow(progress: ChainProgress, chain: FollowedChain): SyncSteps<ChainProgress> {
  const observed = unconfirmedInWindow(progress, chain);
  return observed.length > 0 ? yield { observed } : progress;
}

const extension = async (progress: ChainProgress, header: BlockHeader, chain: FollowedChain): Promise<Change> => {
  const { reader, watches, finality, meter } = chain;
  const read = await readBlock(reader, header, watches.live(progress, header.number));
  const { observed, isRead, refused, atFault } = read;
  if (read.isRuledOut) finality.spareCall();
  for (const { id } of atFault) meter.failed(id, `no provider gives its logs of block ${String(header.number)}`);
  return {
    // An earlier follower may have stored records of another block of this number, which left the chain.
    isOrphan: ({ BlockNumber, BlockHash }) => BlockNumber === header.number && BlockHash !== header.hash,
    observed,
    isRead,
    transition: (now) => advance(header, finality.at(header.number))(fallBehind(refused)(now)),
  };
};

function* rewindTo(
  progress: ChainProgress,
  hash: string,
  { chainId, logger }: FollowedChain,
): SyncSteps<ChainProgress> {
  const { removed } = splitAfter(progress.window, hash);
  const now = yield { removed, transition: rewind(hash) };
  logger.info({ chainId, depth: removed.length, block: removed.at(-1)?.number }, 'reorganisation');
  return now;
}

/**
 * A development chain whose head is an older block has lost the blocks after it. On any other chain, the provider lags.
 */
function* rewindToOlderHead(
  progress: ChainProgress,
  head: BlockHeader,
  chain: FollowedChain,
): SyncSteps<ChainProgress> {
  const { window } = progress;
  if (head.number < window[0].number) throw finalBlockError(chain, undefined);
  const isOlder = head.hash !== tipOf(window).hash && window.some(({ hash }) => hash === head.hash);
  return isOlder ? yield* rewindTo(progress, head.hash, chain) : progress;
}

/** Whether there is room for one range of every live watch: others are set aside. */
const canSkipAhead = (progress: ChainProgress, { watches, rangesMax }: FollowedChain): boolean =>
  watches.live(progress).length <= rangesMax;

/** Moves the window to the head. Reverts what left the chain; the live watches read the blocks between as ranges. */
async function* skipAheadTo(progress: ChainProgress, head: BlockHeader, chain: FollowedChain): Steps<ChainProgress> {
  const { window } = progress;
  const found = await chain.reader.headersByNumber(window.map(({ number }) => number));
  const removed = window.filter(({ hash }, at) => found[at]?.hash !== hash);
  const last = window.findLast((block) => !removed.includes(block));
  if (!last || removed.includes(window[0])) throw finalBlockError(chain, found[0]);
  const ahead = skipAhead(await windowUpTo(chain, head), last.number, chain.watches.at(progress).values());
  const transition: Transition = (now) => makeRoom(ahead(now), progress, chain);
  const observed = unconfirmedInWindow(progress, chain, (block) => !removed.includes(block));
  return yield { removed, observed, transition };
}

/** Sets aside ranges that were there before, the newest first, as far as there are too many. */
const makeRoom = (after: ChainProgress, before: ChainProgress, { rangesMax }: FollowedChain): ChainProgress => {
  const over = after.backfills.length - rangesMax;
  return over > 0 ? setAside(before.backfills.slice(-over).map(({ watchId }) => watchId))(after) : after;
};

/** Descending, because the walk goes on with the header that was pushed last. */
const firstNumbers = ({ from, to }: { from: number; to: number }): number[] => {
  const until = Math.min(to, from + HEADERS_AT_ONCE - 1);
  return Array.from({ length: until - from + 1 }, (_, index) => until - index);
};

const headersOf = async ({ reader }: FollowedChain, numbers: readonly number[]): Promise<BlockHeader[]> =>
  (await reader.headersByNumber(numbers)).map(requireHeader);

const headerAt = async ({ reader }: FollowedChain, number: number): Promise<BlockHeader> =>
  requireHeader((await reader.headersByNumber([number]))[0]);

const requireHeader = (header: BlockHeader | undefined): BlockHeader => {
  if (!header) throw new ChainUnavailable('the provider does not have blocks below its head');
  return header;
};

const parentOf = async ({ reader }: FollowedChain, { parentHash }: BlockHeader): Promise<BlockHeader> => {
  const header = await reader.headerByHash(parentHash);
  if (!header) throw new ChainUnavailable('the provider does not have the parent of its own block');
  return header;
};
