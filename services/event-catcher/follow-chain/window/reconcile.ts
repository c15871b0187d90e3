import type { ObservedRecord, WindowBlock } from '../../../schemas/events/chain-events.ts';
import { ChainUnavailable, type BlockHeader } from '../../../shared/chain/chain-reader.ts';
import type { ChainProgress } from '../domain/chain-progress.ts';
import { FINAL_DEPTH_MAX, linkedWindow, type Window } from '../domain/window.ts';
import type { FollowedChain } from './followed-chain.ts';
import type { Steps } from './store-changes/chain-writer.ts';
import { belongsTo } from './watched-event.ts';

/** The chain contradicts a block that was final, or ends before it. */
export class DeeperThanFinality extends Error {
  override readonly name = 'DeeperThanFinality';
}

/**
 * A development chain lost final blocks. The follower starts again, so that it resets the chain before anything else
 * runs.
 */
export class FinalBlocksLost extends Error {
  override readonly name = 'FinalBlocksLost';
}

/** Returns the error for a chain without the window's final block. @param found the chain's block of that number */
export const finalBlockError = (
  { chainId, isDevelopment }: Pick<FollowedChain, 'chainId' | 'isDevelopment'>,
  found: BlockHeader | 'another' | undefined,
): Error => {
  if (isDevelopment) return new FinalBlocksLost('the chain lost final blocks');
  const what = found ? 'another block is in the place of one' : 'no provider has the block';
  const id = String(chainId);
  return new DeeperThanFinality(
    `chain ${id}: ${what} that was final: check its RPC endpoints; if the chain itself dropped that block, run "annals chain accept --chain ${id}"; ` +
      '"finality" in CHAINS says which blocks count as final from then on',
  );
};

/** Reads the final block, and the blocks after it up to a head, which may be reorganised. */
export const windowUpTo = async (
  { reader, finality }: Pick<FollowedChain, 'reader' | 'finality'>,
  head: BlockHeader,
): Promise<Window<BlockHeader>> => {
  const { number: from, hash } = finality.at(head.number);
  if (head.number - from > FINAL_DEPTH_MAX) throw new ChainUnavailable('the head is older than the finalized block');
  const numbers = Array.from({ length: head.number - from + 1 }, (_, index) => from + index);
  const headers = await reader.headersByNumber(numbers);
  const window = linkedWindow(headers.filter((header) => header !== undefined));
  const isWhole = window?.length === numbers.length && window[0].hash === (hash ?? window[0].hash);
  if (!isWhole) throw new ChainUnavailable('the chain changed while it was read');
  return window;
};

/**
 * Reverts the unconfirmed records whose blocks left the chain. After that, every record that is not final is in a block of
 * the chain or of the window.
 */
export async function* revertOrphans(
  progress: ChainProgress,
  { reader, records }: FollowedChain,
): Steps<ChainProgress> {
  const [final, ...rest] = progress.window;
  const reorganisable = records.unconfirmed.filter(({ BlockNumber }) => BlockNumber > final.number);
  if (reorganisable.length === 0) return progress;
  const numbers = [...new Set(reorganisable.map(({ BlockNumber }) => BlockNumber))];
  const canonical = new Set((await reader.headersByNumber(numbers)).map((header) => header?.hash));
  const known = new Set(rest.map(({ hash }) => hash));
  return yield {
    isOrphan: ({ BlockNumber, BlockHash }) =>
      BlockNumber > final.number && !canonical.has(BlockHash) && !known.has(BlockHash),
  };
}

/**
 * The unconfirmed records of live watches in blocks of the window, in chain order. They are to be observed again if they
 * were reverted, because those blocks are not read a second time.
 * @param stays tells which blocks of the window remain on the chain
 */
export const unconfirmedInWindow = (
  progress: ChainProgress,
  { watches, records }: FollowedChain,
  stays = (_block: WindowBlock) => true,
): ObservedRecord[] => {
  const { unconfirmed } = records;
  if (unconfirmed.length === 0) return [];
  const known = new Set(
    progress.window
      .slice(1)
      .filter(stays)
      .map(({ hash }) => hash),
  );
  return unconfirmed
    .filter((record) => known.has(record.BlockHash))
    .filter((record) => watches.live(progress, record.BlockNumber).some((watch) => belongsTo(watch, record)))
    .toSorted((left, right) => left.BlockNumber - right.BlockNumber || left.LogIndex - right.LogIndex);
};
