import { LOG_STREAM, type LogEvent } from '../../../schemas/events/account/log-events.ts';
import { SealedHistories, type HistoriesNow } from '../../../shared/audit/seals/sealed-histories.ts';
import { NO_STREAM, WrongExpectedRevision, type StoredEvent } from '../../../shared/event-store/event-store.ts';
import { systemMetadata } from '../../../shared/event-store/transactions/own-metadata.ts';
import { toAppend } from '../../../shared/event-store/transactions/transact.ts';
import type { WorkerFoundation } from '../../../shared/host/foundation.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import { isAborted } from '../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';

const EVERY_SECONDS = { development: 10, test: 10, production: 3_600 };

type SealLoopOptions = Pick<WorkerFoundation, 'eventStore' | 'readStore' | 'logger' | 'clock' | 'ids' | 'settings'>;

/**
 * Seals the lengths of all histories every SEAL_SECONDS, in one process at a time, unless nothing has happened since the
 * last seal. An export shows by the newest seal that it leaves out no item.
 */
export const sealLoop = (options: SealLoopOptions): SupervisedLoop => {
  const { eventStore, readStore, logger, clock, settings } = options;
  const everyMs = (settings.SEAL_SECONDS ?? EVERY_SECONDS[settings.NODE_ENV]) * 1_000;
  const histories = new SealedHistories(eventStore, readStore);
  return leasedLoop({
    name: 'seals',
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      reportRunning();
      while (!isAborted(signal)) {
        const newest = await histories.newest();
        if (newest) await restore(histories, newest, logger);
        const elapsedMs = newest ? clock.now() - newest.time : everyMs;
        await pause(Math.min(everyMs, Math.max(0, everyMs - elapsedMs)), signal);
        if (!isAborted(signal) && !(await seal(histories, newest, options))) await pause(everyMs, signal);
      }
    },
  });
};

/** Stores the tree of the newest seal where a crash, or a new read store, has left it out. */
const restore = async (
  histories: SealedHistories,
  newest: StoredEvent,
  logger: SealLoopOptions['logger'],
): Promise<void> => {
  if ((await histories.newestStored())?.revision === newest.revision) return;
  const tree = await histories.treeOf(newest);
  if (!tree) return;
  if (tree.root.toString('base64') === newest.data['root']) await histories.store(newest, tree);
  else
    logger.error(
      { seal: newest.revision },
      'the histories are not as they were sealed: annals audit log verify tells more',
    );
};

/**
 * Whether there is something that the newest seal does not prove. The newest seal leaves out an event that was stored before
 * the seal and projected after, so the histories are compared once they are projected up to the seal.
 */
const isNewSince = (newest: StoredEvent, { tree, upTo, reached }: HistoriesNow): boolean => {
  if (reached < newest.position) return false;
  return upTo.position > newest.position || tree.root.toString('base64') !== newest.data['root'];
};

/** @returns whether there was something to seal */
const seal = async (
  histories: SealedHistories,
  newest: StoredEvent | undefined,
  { eventStore, clock, ids }: SealLoopOptions,
): Promise<boolean> => {
  const now = await histories.treeNow();
  if (!now || (newest && !isNewSince(newest, now))) return false;
  const { users, root } = now.tree;
  const event: LogEvent = { type: 'HistoriesSealed', data: { users, root: root.toString('base64') } };
  const metadata = { ...systemMetadata(ids, 'projector'), causationId: now.upTo.id };
  const [last] = await eventStore.read(LOG_STREAM, { direction: 'backwards', limit: 1 });
  try {
    const { revision } = await eventStore.append(LOG_STREAM, last?.revision ?? NO_STREAM, [
      toAppend(event, metadata, { clock, ids }),
    ]);
    const [stored] = await eventStore.read(LOG_STREAM, { from: revision, limit: 1 });
    if (stored) await histories.store(stored, now.tree);
    return true;
  } catch (error) {
    // Another process has sealed, or the key of the log was made.
    if (error instanceof WrongExpectedRevision) return true;
    throw error;
  }
};
