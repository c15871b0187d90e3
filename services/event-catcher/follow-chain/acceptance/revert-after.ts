import type { ObservedRecord } from '../../../../schemas/events/chain-events.ts';
import type { BlockHeader, ChainReader } from '../../../../shared/chain/chain-reader.ts';
import type { Anchor } from '../../domain/anchors.ts';
import { newestOnChain } from '../../edge/newest-on-chain.ts';
import { replaceWindow, type ChainProgress } from '../../domain/chain-progress.ts';
import { verifyAgainAfter } from '../../domain/verification.ts';
import { tipOf } from '../../domain/window.ts';
import type { FollowedChain } from '../followed-chain.ts';
import { windowUpTo } from '../reconcile.ts';
import type { AcceptedBlock } from './accepted-block.ts';
import type { ChainRecords } from '../store-changes/chain-records.ts';
import type { Steps } from '../store-changes/chain-writer.ts';
import type { VerificationStream } from '../store-changes/verification-stream.ts';
import type { StoredRecords } from '../verify-chain/stored-records.ts';

interface Dependencies {
  chain: FollowedChain;
  records: Pick<ChainRecords, 'newestOf'>;
  verifications: VerificationStream;
  storedRecords: StoredRecords;
  signal: AbortSignal;
  /** Whether an unconfirmed record is in blocks that are not read again, so that it is confirmed as it is. */
  isRead: (record: ObservedRecord) => boolean;
}

/** So many blocks have their records in memory at a time. */
const BLOCKS_AT_ONCE = 2_000;

/** Reverts all records after a block, and reads those blocks again. @throws StoredUnavailable */
export async function* revertAfter(
  kept: number,
  progress: ChainProgress,
  head: BlockHeader,
  { chain, records, verifications, storedRecords, signal, isRead }: Dependencies,
): Steps<ChainProgress> {
  const { watches, chainId, logger } = chain;
  const window = await windowUpTo(chain, head);
  const known = [...watches.at(progress).values()];
  const firsts = known.map(({ startBlock }) => startBlock);
  const last = Math.max(kept, Math.min(progress.window[0].number, ...firsts) - 1);
  logger.warn(
    { chainId, from: last + 1 },
    'the operator accepts that final blocks are gone: what came after is read again',
  );
  await verifications.append(verifyAgainAfter(verifications.stored, last));
  yield { wrong: chain.records.unconfirmed.filter(({ BlockNumber }) => BlockNumber > last) };
  for (let to = tipOf(progress.window).number; to > last; to -= BLOCKS_AT_ONCE) {
    const position = records.newestOf(known.map(({ contract }) => contract));
    const blocks = { from: Math.max(last + 1, to - BLOCKS_AT_ONCE + 1), to };
    const stored = await storedRecords.of(known, blocks, position, signal);
    yield { wrong: [...stored.values()].flat() };
  }
  return yield {
    isRead: (record) => record.BlockNumber <= last && isRead(record),
    transition: replaceWindow(window, last, known),
  };
}

/**
 * Returns the last block that stays: that before the first one which the operator names, or the newest anchor that is still on the chain.
 * `undefined` if neither is known: then nothing is reverted.
 */
export const lastKept = async (
  { fromBlock, number }: AcceptedBlock,
  anchors: readonly Anchor[],
  reader: Pick<ChainReader, 'headersByNumber'>,
): Promise<number | undefined> => {
  if (fromBlock !== undefined) return Math.min(fromBlock, number) - 1;
  return (await newestOnChain(anchors, reader))?.number;
};
