import { ChainUnavailable, type BlockHeader } from '../../../../shared/chain/chain-reader.ts';
import {
  advance,
  fallBehind,
  rewind,
  defer,
  skipAhead,
  type ChainProgress,
  type Transition,
} from '../../domain/chain-progress.ts';
import { isFarAhead, WALK_BLOCKS_MAX } from '../../domain/window/window.ts';
import { classifyHeader, splitAfter, tipOf } from '../../../../shared/chain/window.ts';
import { readBlock } from '../block-logs.ts';
import type { FollowedChain } from '../followed-chain.ts';
import { finalBlockError, revertOrphans, unconfirmedInWindow, windowUpTo } from '../window/reconcile.ts';
import type { Change, Steps, SyncSteps } from '../stored-changes/chain-writer.ts';

/** How many of the headers between the newest block read and the head are requested at a time. */
const HEADERS_AT_ONCE = 50;
const STEPS_MAX = 5_000;

/**
 * Reads the chain up to `head`, block by block. If the head is far ahead, jumps to the head and leaves the blocks
 * between to backfills. If there are too few slots (places for unread ranges) for these backfills, reads at most the
 * next `WALK_BLOCKS_MAX` blocks.
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
 * Reads block by block up to `head`: fetches the headers between, drops blocks that were reorganised, and stores each
 * block together with its records, the decoded logs of the watches.
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

/**
 * Confirms records that an earlier follower stored after its last checkpoint, and stores again those that it reverted,
 * if their blocks are not final but on the chain.
 */
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
    // Reverts records that an earlier follower stored from a different block with the same number, which left the
    // chain.
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
 * If `head` is an older block that was already read, drops the blocks after it: a development chain has lost them. On
 * any other chain, an older head means that the provider lags.
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

/** Whether there are slots to backfill every watch that is read at the head, if all other ranges are deferred. */
const canSkipAhead = (progress: ChainProgress, { watches, rangesMax }: FollowedChain): boolean =>
  watches.live(progress).length <= rangesMax;

/**
 * Jumps to `head`, and reverts the records of blocks that left the chain. Each watch that was read at the head gets a
 * backfill of the blocks between.
 */
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

/**
 * If there are more than `rangesMax` unread ranges after a jump to the head, defers the watches whose ranges were the
 * last to be added before the jump.
 */
const makeRoom = (after: ChainProgress, before: ChainProgress, { rangesMax }: FollowedChain): ChainProgress => {
  const over = after.backfills.length - rangesMax;
  return over > 0 ? defer(before.backfills.slice(-over).map(({ watchId }) => watchId))(after) : after;
};

/** Returns the first numbers of a gap, in descending order: `walkTo` continues with the last header of its list. */
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
