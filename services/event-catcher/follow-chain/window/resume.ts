import { FinalizedContradicted, type BlockHeader, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { watchIdOfRecord } from '../../../shared/chain/watch-id.ts';
import { initialProgress, resetProgress, type ChainProgress } from '../domain/chain-progress.ts';
import { rangesOf } from '../domain/coverage.ts';
import { tipOf } from '../domain/window.ts';
import { initialVerification, readUpTo } from '../domain/verification.ts';
import { acceptedBlock, type AcceptedBlock } from './accept-chain/accepted-block.ts';
import { lastKept, revertAfter } from './accept-chain/revert-after.ts';
import { advanceToHead } from './advance-to-head.ts';
import { Finality } from './finality.ts';
import { abortable, type FollowedChain, type FollowerDependencies, type FollowSettings } from './followed-chain.ts';
import { finalBlockError, revertOrphans, windowUpTo } from './reconcile.ts';
import type { ChainAppends } from './store-changes/chain-appends.ts';
import { ChainRecords } from './store-changes/chain-records.ts';
import { ChainWriter, type Steps } from './store-changes/chain-writer.ts';
import { ProgressStream } from './store-changes/progress-stream.ts';
import { VerificationStream } from './store-changes/verification-stream.ts';
import type { StoredRecords } from './verify-chain/stored-records.ts';
import { belongsTo } from './watched-event.ts';

export interface Resumed {
  chain: FollowedChain;
  records: ChainRecords;
  writer: ChainWriter;
  verifications: VerificationStream;
}

/** Loads the stored progress, and advances from there to the head before anything else runs. */
export const resume = async (
  settings: FollowSettings,
  dependencies: FollowerDependencies,
  appends: ChainAppends,
  signal: AbortSignal,
): Promise<Resumed> => {
  const { eventStore, newHeads, watches, meter, logger, clock, storedRecords } = dependencies;
  const reader = abortable(dependencies.reader, signal);
  const stream = await ProgressStream.load({ eventStore, appends }, settings.chainId);
  const verifications = await VerificationStream.load({ eventStore, appends }, settings.chainId);
  await watches.load(signal);
  const records = new ChainRecords({ eventStore, appends }, settings.chainId);
  // This includes watches that the progress does not contain: records of them may have been stored after it.
  await records.load(watches.contracts, stream.stored?.position ?? 0, signal);
  const window = stream.stored?.window;
  const accepted = window && (await acceptedBlock(eventStore, settings.chainId, window[0]));
  if (accepted) reader.forgetFinalized();
  const depth = window ? tipOf(window).number - window[0].number : 0;
  const finality = new Finality(reader, settings, depth, clock);
  const chain = { ...settings, reader, newHeads, finality, watches, records, meter, logger };
  const head = await finality.head().catch(async (error: unknown) => {
    if (!(error instanceof FinalizedContradicted) || !window || !(await isOnChain(reader, window[0]))) throw error;
    // The contradicted block is newer than the stored final one, which is still on the chain: nothing stored depends on it.
    reader.forgetFinalized();
    return finality.head();
  });
  const progress = stream.stored ?? initialProgress(await windowUpTo(chain, head), 0);
  const writer = new ChainWriter(progress, records, stream, clock);
  // This is one commit, before any backfill: a watch that joined in between would request blocks that left the chain.
  await writer.commit(async function* (stored) {
    const known = { accepted, verifications, records, storedRecords, signal };
    yield* advanceToHead(yield* reconcileAtStart(stored, head, chain, known), head, chain);
  });
  return { chain, records, writer, verifications };
};

const isOnChain = async (
  reader: Pick<ChainReader, 'headersByNumber'>,
  { number, hash }: { number: number; hash: string },
): Promise<boolean> => (await reader.headersByNumber([number]))[0]?.hash === hash;

interface AtStart {
  verifications: VerificationStream;
  records: ChainRecords;
  storedRecords: StoredRecords;
  signal: AbortSignal;
  /** Present if the operator has accepted that the chain dropped the final block that is stored. */
  accepted: AcceptedBlock | undefined;
}

/** Compares what earlier followers stored with the chain as it is now, and corrects it. */
async function* reconcileAtStart(
  progress: ChainProgress,
  head: BlockHeader,
  chain: FollowedChain,
  { verifications, accepted, ...known }: AtStart,
): Steps<ChainProgress> {
  const [final] = progress.window;
  const [found] = await chain.reader.headersByNumber([final.number]);
  if (found?.hash === final.hash) {
    return yield* revertOrphans(yield { isRead: isReadBefore(progress, chain) }, chain);
  }
  const { chainId, isDevelopment, logger } = chain;
  const last = accepted && (await lastKept(accepted, progress.anchors, chain.reader));
  if (last !== undefined) {
    const isRead = isReadBefore(progress, chain);
    return yield* revertAfter(last, progress, head, { chain, verifications, ...known, isRead });
  }
  if (!isDevelopment) throw finalBlockError(chain, found);
  logger.warn({ chainId }, 'the local chain lost blocks: it is read again from the beginning');
  const window = await windowUpTo(chain, head);
  await verifications.append(initialVerification);
  return yield { removed: 'every block', transition: resetProgress(window) };
}

/** Tells which records are of final blocks that are not read as a range any more. Only a verification has stored them since. */
const isReadBefore = (
  progress: ChainProgress,
  { watches }: Pick<FollowedChain, 'watches'>,
): ((record: ObservedRecord) => boolean) => {
  const final = progress.window[0].number;
  const byRecordId = new Map(
    Array.from(watches.at(progress).values()).flatMap((watch) => watch.recordIds.map((id) => [id, watch] as const)),
  );
  return (record) => {
    const watch = byRecordId.get(watchIdOfRecord(record));
    const from = record.BlockNumber;
    const ranges = rangesOf(progress, watch?.id ?? '');
    return watch !== undefined && belongsTo(watch, record) && readUpTo(ranges, { from, final }) >= from;
  };
};
