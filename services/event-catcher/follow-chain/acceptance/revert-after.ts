import type { ChainAcceptanceEvent, ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { BlockHeader, ChainReader } from '../../../../shared/chain/chain-reader.ts';
import type { EventStore, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { acceptanceStream } from '../../domain/window/acceptance.ts';
import type { Anchor } from '../../domain/window/anchors.ts';
import { newestOnChain } from '../../edge/newest-on-chain.ts';
import { replaceWindow, type ChainProgress } from '../../domain/chain-progress.ts';
import { verifyAgainAfter } from '../../domain/verification.ts';
import { tipOf } from '../../../../shared/chain/window.ts';
import type { FollowedChain } from '../followed-chain.ts';
import { windowUpTo } from '../window/reconcile.ts';
import type { ChainRecords } from '../stored-changes/chain-records.ts';
import type { Steps } from '../stored-changes/chain-writer.ts';
import type { VerificationStream } from '../stored-changes/verification-stream.ts';
import type { StoredRecords } from '../verification/stored-records.ts';

export type AcceptedBlock = ChainAcceptanceEvent['data'];

interface Dependencies {
  chain: FollowedChain;
  records: Pick<ChainRecords, 'newestOf'>;
  verifications: VerificationStream;
  storedRecords: StoredRecords;
  signal: AbortSignal;
  /**
   * Whether an unconfirmed record, one stored after the last checkpoint, is in a block that was already read and is not
   * read again. The record is then confirmed as it is.
   */
  isRead: (record: ObservedRecord) => boolean;
}

/** How many blocks have their stored records loaded and reverted at a time, to limit memory. */
const BLOCKS_AT_ONCE = 2_000;

/**
 * Reverts all stored records in blocks after `kept`, and turns these blocks into unread ranges, so that they are read
 * again.
 * @throws StoredUnavailable if the stored records cannot be read
 */
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
    const stored = await storedRecords.load(known, blocks, position, signal);
    yield { wrong: [...stored.values()].flat() };
  }
  return yield {
    isRead: (record) => record.BlockNumber <= last && isRead(record),
    transition: replaceWindow(window, last, known),
  };
}

/**
 * Returns the operator's newest acceptance that the chain dropped a final block, if it names the block with this hash;
 * otherwise `undefined`.
 */
export const acceptedBlock = async (
  eventStore: Pick<EventStore, 'read'>,
  chainId: number,
  { hash }: { hash: string },
): Promise<AcceptedBlock | undefined> => {
  const [newest] = await eventStore.read(acceptanceStream(chainId), { direction: 'backwards', limit: 1 });
  const accepted = newest && (newest as StoredEvent & ChainAcceptanceEvent).data;
  return accepted?.hash === hash ? accepted : undefined;
};

/**
 * Returns the last block whose records stay: the block before `fromBlock`, which the operator may name, or else the
 * newest anchor (a former final block that was kept) that is still on the chain. `undefined` if there is neither: then
 * nothing is reverted.
 */
export const lastKept = async (
  { fromBlock, number }: AcceptedBlock,
  anchors: readonly Anchor[],
  reader: Pick<ChainReader, 'headersByNumber'>,
): Promise<number | undefined> => {
  if (fromBlock !== undefined) return Math.min(fromBlock, number) - 1;
  return (await newestOnChain(anchors, reader))?.number;
};
