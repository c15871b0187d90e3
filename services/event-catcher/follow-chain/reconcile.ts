import { ChainUnavailable, type BlockHeader, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { ChainProgress } from '../domain/chain-progress.ts';
import { linkedWindow, type Window } from '../domain/window.ts';
import type { FollowedChain } from './followed-chain.ts';
import type { Steps } from './store-changes/chain-writer.ts';
import { belongsTo } from './watched-event.ts';

/** The chain contradicts a block that was final. */
export class DeeperThanFinality extends Error {
  override readonly name = 'DeeperThanFinality';
  constructor(chainId: number) {
    super(`chain ${String(chainId)} contradicts a block that was final: check its RPC endpoints`);
  }
}

/** A development chain lost blocks that were final: it is read anew, from a start at which nothing else runs. */
export class FinalBlocksLost extends Error {
  override readonly name = 'FinalBlocksLost';
}

/** @param found what the chain has in place of the block that was final */
export const finalBlockError = ({ chainId, isDevelopment }: FollowedChain, found: BlockHeader | undefined): Error => {
  if (isDevelopment) return new FinalBlocksLost('the chain lost final blocks');
  if (found) return new DeeperThanFinality(chainId);
  return new ChainUnavailable('the provider does not have the block that was final');
};

/** The blocks up to a head that may be reorganised, and the final one before them. */
export const windowUpTo = async (
  { reader, confirmations }: { reader: ChainReader; confirmations: number },
  head: BlockHeader,
): Promise<Window<BlockHeader>> => {
  const from = Math.max(0, head.number - confirmations);
  const numbers = Array.from({ length: head.number - from + 1 }, (_, index) => from + index);
  const headers = await reader.headersByNumber(numbers);
  const window = linkedWindow(headers.filter((header) => header !== undefined));
  if (window?.length !== numbers.length) throw new ChainUnavailable('the chain changed while it was read');
  return window;
};

/**
 * Of what is unconfirmed and not final: what the chain does not have now is reverted; what live watches have in blocks of
 * the window is confirmed, or observed again if it was reverted, as those blocks do not arrive a second time. After that
 * everything is of the chain, or of a block of the window.
 */
export async function* reconcileUnconfirmed(
  progress: ChainProgress,
  { reader, watches, records }: FollowedChain,
): Steps<ChainProgress> {
  const [final, ...rest] = progress.window;
  const reorganisable = records.unconfirmed.filter(({ BlockNumber }) => BlockNumber > final.number);
  if (reorganisable.length === 0) return progress;
  const numbers = [...new Set(reorganisable.map(({ BlockNumber }) => BlockNumber))];
  const canonical = new Set((await reader.headersByNumber(numbers)).map((header) => header?.hash));
  const known = new Set(rest.map(({ hash }) => hash));
  const live = watches.live(progress);
  const observed = reorganisable.filter(
    (record) =>
      canonical.has(record.BlockHash) && known.has(record.BlockHash) && live.some((watch) => belongsTo(watch, record)),
  );
  return yield {
    isOrphan: ({ BlockNumber, BlockHash }) =>
      BlockNumber > final.number && !canonical.has(BlockHash) && !known.has(BlockHash),
    observed: observed.toSorted(
      (left, right) => left.BlockNumber - right.BlockNumber || left.LogIndex - right.LogIndex,
    ),
  };
}
