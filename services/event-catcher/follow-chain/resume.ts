import type { BlockHeader } from '../../../shared/chain/chain-reader.ts';
import { initialProgress, resetProgress, type ChainProgress } from '../domain/chain-progress.ts';
import { advanceToHead } from './advance-to-head.ts';
import { Finality } from './finality.ts';
import { abortable, type FollowedChain, type FollowerDependencies, type FollowSettings } from './followed-chain.ts';
import { finalBlockError, reconcileUnconfirmed, windowUpTo } from './reconcile.ts';
import type { ChainAppends } from './store-changes/chain-appends.ts';
import { ChainRecords } from './store-changes/chain-records.ts';
import { ChainWriter, type Steps } from './store-changes/chain-writer.ts';
import { ProgressStream } from './store-changes/progress-stream.ts';

/** Loads the stored progress, and advances from there to the head before anything else runs. */
export const resume = async (
  settings: FollowSettings,
  dependencies: FollowerDependencies,
  appends: ChainAppends,
  signal: AbortSignal,
): Promise<{ chain: FollowedChain; writer: ChainWriter }> => {
  const { eventStore, newHeads, watches, meter, logger, clock } = dependencies;
  const reader = abortable(dependencies.reader, signal);
  const stream = await ProgressStream.load({ eventStore, appends }, settings.chainId);
  await watches.load(signal);
  const records = new ChainRecords({ eventStore, appends }, settings.chainId);
  // This includes watches that the progress does not contain: records of them may have been stored after it.
  await records.load(watches.contracts, stream.stored?.position ?? 0, signal);
  const finality = new Finality(reader, settings);
  const chain = { ...settings, reader, newHeads, finality, watches, records, meter, logger };
  const head = await reader.head();
  await finality.look(head.number);
  const progress = stream.stored ?? initialProgress(await windowUpTo(chain, head), 0);
  const writer = new ChainWriter(progress, records, stream, clock);
  // This is one commit, before any backfill: a watch that joined in between would request blocks that left the chain.
  await writer.commit(async function* (stored) {
    yield* advanceToHead(yield* reconcileAtStart(stored, head, chain), head, chain);
  });
  return { chain, writer };
};

/** Compares what earlier followers stored with the chain as it is now, and corrects it. */
async function* reconcileAtStart(
  progress: ChainProgress,
  head: BlockHeader,
  chain: FollowedChain,
): Steps<ChainProgress> {
  const [final] = progress.window;
  const [found] = await chain.reader.headersByNumber([final.number]);
  if (found?.hash === final.hash) return yield* reconcileUnconfirmed(progress, chain);
  const { chainId, isDevelopment, logger } = chain;
  if (!isDevelopment) throw finalBlockError(chain, found);
  logger.warn({ chainId }, 'the local chain lost blocks: it is read again from the beginning');
  return yield { removed: 'every block', transition: resetProgress(await windowUpTo(chain, head)) };
}
