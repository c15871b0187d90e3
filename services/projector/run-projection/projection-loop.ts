import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import type { Logger } from 'pino';
import { pause } from '../../../shared/primitives/pause.ts';
import type { ReadModel } from '../../../shared/read-models/read-model.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { BatchProjector } from './project-batch.ts';

/** While events keep coming one by one, those of so long are stored together: each batch costs as many calls as a large one. */
const GATHERS_MS = 20;

/**
 * Keeps one read model up with the event store, from its checkpoint on, in one process at a time. Two at once, as when one
 * was paused while another took its lease, do the same work twice: what either makes of a document at a position is the
 * same, and a document takes only what is newer than itself.
 */
export const projectionLoop = (
  model: ReadModel,
  { eventStore, readStore, logger }: { eventStore: EventStore; readStore: ReadStore; logger: Logger },
): SupervisedLoop =>
  leasedLoop({
    name: `projection ${model.name}`,
    leases: readStore,
    logger,
    run: async (signal, working) => {
      const checkpoint = await readStore.position(model.name);
      const projector = new BatchProjector(model, readStore);
      try {
        for await (const batch of eventStore.subscribeAll(checkpoint, { types: model.eventTypes }, signal)) {
          const nextAt = performance.now() + GATHERS_MS;
          await projector.project(batch, signal);
          working();
          if (batch.caughtUp) {
            await pause(Math.max(0, nextAt - performance.now()), signal);
            // What failed to be stored is begun anew even if nothing follows.
            await projector.whenStored();
          }
        }
      } finally {
        // Another may work as soon as this returns.
        await projector.whenStored();
      }
    },
  });
