import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { EventSealing } from '../../../shared/event-store/event-sealing.ts';
import type { EventStore, StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { pause } from '../../../shared/primitives/pause.ts';
import { untilAborted } from '../../../shared/primitives/until-aborted.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { BatchProjector } from './project-batch.ts';

/** Events that arrive within this time are stored together, because a small batch costs as much as a large one. */
const BATCH_INTERVAL_MS = 20;

interface ProjectionOptions {
  eventStore: EventStore;
  readStore: ReadStore;
  personalData: Pick<EventSealing, 'open'>;
  logger: Logger;
}

/**
 * Keeps one read model up to date with the event store, from its checkpoint on, in one process at a time. If two processes
 * work at once, because one was paused while the other took its lease, they do the same work twice without harm: both make
 * the same document for a position, and a document is only replaced by a newer one.
 */
export const projectionLoop = (
  model: ReadModel,
  { eventStore, readStore, personalData, logger }: ProjectionOptions,
): SupervisedLoop =>
  leasedLoop({
    name: `projection ${model.name}`,
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      const checkpoint = await readStore.position(model.name);
      const projector = new BatchProjector(model, readStore);
      const ending = new AbortController();
      const working = AbortSignal.any([signal, ending.signal]);
      let forgotten: Promise<void> = Promise.resolve();
      // Beside the projection: a store may have to wait until nobody reads what was replaced. A failure restarts the loop.
      const forgetReplaced = () => {
        forgotten = forgotten.then(() => untilAborted(readStore.forgetReplaced(), working));
        forgotten.catch((error: unknown) => {
          ending.abort(error);
        });
      };
      // A process may have ended between an erasure and this.
      if (erasingTypes.some((type) => model.eventTypes.includes(type))) forgetReplaced();
      try {
        for await (const batch of eventStore.subscribeAll(checkpoint, { types: model.eventTypes }, working)) {
          const nextAt = performance.now() + BATCH_INTERVAL_MS;
          const events = model.keepsSealed ? batch.events : await personalData.open(batch.events);
          await projector.project({ ...batch, events }, working);
          reportRunning();
          if (batch.caughtUp) {
            await pause(Math.max(0, nextAt - performance.now()), working);
            // A failed write must restart the loop even if no further event comes.
            await projector.flush();
          }
          if (batch.events.some(erases)) {
            await projector.flush();
            forgetReplaced();
          }
        }
        ending.signal.throwIfAborted();
      } finally {
        ending.abort();
        // Another process may start to work as soon as this returns.
        await projector.flush();
      }
    },
  });

/** Events after which documents have less of a person than before. */
const erasingTypes = ['UserErased', 'SessionRevoked'];
const erases = ({ type, data }: StoredEvent): boolean =>
  erasingTypes.includes(type) && (type === 'UserErased' || data['reason'] === 'user_erased');
