import type { WorkerFoundation } from '../../../shared/host/foundation.ts';
import type { Measured } from '../../../shared/host/health/measure.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { CheckpointLoop } from '../../../shared/loops/checkpoint-loops.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { pause } from '../../../shared/primitives/waiting/pause.ts';
import { untilAborted } from '../../../shared/primitives/waiting/until-aborted.ts';
import { collections } from '../../../shared/read-models/catalogue.ts';
import type { FormerCollection } from '../../../shared/read-store/former-collections/former-collection.ts';

const CHECKPOINT = 'former-collections-v1';
/** Interval between batches, so that a busy event store is not followed commit by commit. */
const BATCH_INTERVAL_MS = 500;
const MESSAGE =
  'no read model of this version names these collections. Drop them once you will not return to a version that does; until then, erasures are carried out in them too';
const current = collections.map(({ name }) => name);

type FormerCollectionsOptions = Pick<WorkerFoundation, 'eventStore' | 'readStore' | 'logger'>;

/**
 * Removes the documents of erased users from collections of earlier versions, until the operator drops those
 * collections: no read model names them, so no fold changes them. Has a checkpoint of its own, and begins with the
 * first erasure ever.
 */
export const formerCollectionsLoop = ({
  eventStore,
  readStore,
  logger,
}: FormerCollectionsOptions): CheckpointLoop & { measured: Measured } => {
  let found: readonly FormerCollection[] = [];
  const loop = leasedLoop({
    name: 'former collections',
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      found = await readStore.formerCollections(current);
      if (found.length > 0) logger.warn({ collections: await withTimes(found, { eventStore, readStore }) }, MESSAGE);
      const checkpoint = await readStore.position(CHECKPOINT);
      for await (const batch of eventStore.subscribeAll(checkpoint, { types: ['UserErased'] }, signal)) {
        if (batch.events.length > 0) {
          const userIds = batch.events.map(({ data }) => data['userId'] as string);
          await untilAborted(readStore.removeFromFormer(current, userIds), signal);
          await untilAborted(readStore.forgetReplaced(), signal);
        }
        signal.throwIfAborted();
        await readStore.apply(CHECKPOINT, [], batch.position, batch.newestPermanent);
        reportRunning();
        if (batch.caughtUp) await pause(BATCH_INTERVAL_MS, signal);
      }
    },
  });
  const measured: Measured = {
    name: 'annals_former_collection_documents',
    help: 'Documents of a collection that no read model names any more, when this projector began to look after it.',
    labelNames: ['collection'],
    read: () =>
      Promise.resolve(found.map(({ name, documents }) => ({ labels: { collection: name }, value: documents }))),
  };
  return { checkpoint: CHECKPOINT, loop, measured };
};

/**
 * Adds when the newest event of each collection was stored, if the checkpoint of the projection with its name has that
 * event.
 */
const withTimes = async (
  found: readonly FormerCollection[],
  { eventStore, readStore }: Pick<FormerCollectionsOptions, 'eventStore' | 'readStore'>,
): Promise<object[]> => {
  const checkpoints = await readStore.checkpoints();
  const described = found.map(async (one) => {
    const event = checkpoints.get(one.name)?.event;
    const [newest] = event ? await eventStore.read(event.stream, { from: event.revision, limit: 1 }) : [];
    return { ...one, ...(newest && { filledTo: toIso(newest.time) }) };
  });
  return Promise.all(described);
};
