import type { ObservedRecord, WindowBlock } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { ChainUnavailable, type BlockHeader } from '../../../../shared/chain/chain-reader.ts';
import type { ChainProgress } from '../../domain/chain-progress.ts';
import { FINAL_DEPTH_MAX } from '../../domain/window/window.ts';
import { linkedWindow, type Window } from '../../../../shared/chain/window.ts';
import type { FollowedChain } from '../followed-chain.ts';
import type { Steps } from '../stored-changes/chain-writer.ts';
import { belongsTo } from '../watches/watched-event.ts';

/** Thrown if a chain no longer contains a block that was final: another block replaced it, or the chain is shorter. */
export class DeeperThanFinality extends Error {
  override readonly name = 'DeeperThanFinality';
}

/**
 * Thrown if a development chain lost final blocks. The follower then starts again: it reverts all stored records, and
 * reads the chain from the beginning.
 */
export class FinalBlocksLost extends Error {
  override readonly name = 'FinalBlocksLost';
}

/**
 * Returns the error to throw if a chain no longer contains a block that was final.
 * @param found the block in its place; `undefined` if the chain has none
 */
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

/**
 * Reads the headers from the newest final block up to `head`, each linked to the one before by its parent hash.
 * @throws ChainUnavailable if the chain changed meanwhile
 */
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
 * Reverts unconfirmed records, which an earlier follower stored after its last checkpoint, if their blocks are not
 * final and have left the chain. Records in blocks of the window stay: they are reverted when the window drops the
 * block.
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
 * Returns the unconfirmed records in blocks of the window, in chain order: an earlier follower stored or reverted them
 * after its last checkpoint. The caller stores the reverted ones again, because their blocks are not read again.
 * @param stays tells which blocks of the window are still on the chain
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
