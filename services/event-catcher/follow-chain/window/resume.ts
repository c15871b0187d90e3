import { FinalizedContradicted, type BlockHeader, type ChainReader } from '../../../../shared/chain/chain-reader.ts';
import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { initialProgress, resetProgress, type ChainProgress } from '../../domain/chain-progress.ts';
import { rangesOf } from '../../domain/backfill/coverage.ts';
import { tipOf } from '../../../../shared/chain/window.ts';
import { initialVerification, readUpTo } from '../../domain/verification.ts';
import { acceptedBlock, lastKept, revertAfter, type AcceptedBlock } from '../acceptance/revert-after.ts';
import { advanceToHead } from '../head/advance-to-head.ts';
import { Finality } from './finality.ts';
import { abortable, type FollowedChain, type FollowerDependencies, type FollowSettings } from '../followed-chain.ts';
import { finalBlockError, revertOrphans, windowUpTo } from './reconcile.ts';
import type { ChainAppends } from '../stored-changes/chain-appends.ts';
import { ChainRecords } from '../stored-changes/chain-records.ts';
import { ChainWriter, type Steps } from '../stored-changes/chain-writer.ts';
import { ProgressStream } from '../stored-changes/progress-stream.ts';
import { VerificationStream } from '../stored-changes/verification-stream.ts';
import type { StoredRecords } from '../verification/stored-records.ts';
import { belongsTo } from '../watches/watched-event.ts';

export interface Resumed {
  chain: FollowedChain;
  records: ChainRecords;
  writer: ChainWriter;
  verifications: VerificationStream;
}

/**
 * Loads what earlier followers stored of a chain, corrects it if the chain was reorganised, and reads up to the head
 * before backfills begin.
 */
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
  // Loads the contracts of all registered watches, even of those newer than the checkpoint: their records may already
  // be stored.
  await records.load(watches.contracts, stream.stored?.position ?? 0, signal);
  const window = stream.stored?.window;
  const accepted = window && (await acceptedBlock(eventStore, settings.chainId, window[0]));
  if (accepted) reader.forgetFinalized();
  const depth = window ? tipOf(window).number - window[0].number : 0;
  const finality = new Finality(reader, settings, depth, clock);
  const chain = { ...settings, reader, newHeads, finality, watches, records, meter, logger };
  const head = await finality.head().catch(async (error: unknown) => {
    if (!(error instanceof FinalizedContradicted) || !window || !(await isOnChain(reader, window[0]))) throw error;
    // The stored final block is still on the chain. The chain contradicts only a newer finalized block, and nothing
    // stored depends on that.
    reader.forgetFinalized();
    return finality.head();
  });
  const progress = stream.stored ?? initialProgress(await windowUpTo(chain, head), 0);
  const writer = new ChainWriter(progress, records, stream, clock);
  // A single commit, before any backfill runs. Between two commits a watch could begin to be read at the head, and
  // request blocks that have left the chain.
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
  /** The operator's acceptance that the chain dropped the stored final block; `undefined` if there is none. */
  accepted: AcceptedBlock | undefined;
}

/**
 * Compares the chain with the progress and records that earlier followers stored, and corrects both. Returns the
 * corrected progress.
 */
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

/**
 * Returns a test for an unconfirmed record, one stored after the last checkpoint: whether its block is final and was
 * read before. Only the verification can have stored such a record.
 */
const isReadBefore = (
  progress: ChainProgress,
  { watches }: Pick<FollowedChain, 'watches'>,
): ((record: ObservedRecord) => boolean) => {
  const final = progress.window[0].number;
  const followed = watches.at(progress);
  return (record) => {
    const watch = followed.get(record.WatchId);
    const from = record.BlockNumber;
    const ranges = rangesOf(progress, watch?.id ?? '');
    return watch !== undefined && belongsTo(watch, record) && readUpTo(ranges, { from, final }) >= from;
  };
};
