import type { Logger } from 'pino';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { userEvents } from '../../../schemas/events/user-events.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { leasedLoop } from '../../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../../shared/loops/supervised-loop.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import type { Erasures } from './erasures.ts';

/** The name of its checkpoint. */
export const ERASURES_CHECKPOINT = 'erasures-v1';

interface ErasureLoopOptions {
  eventStore: Pick<EventStore, 'subscribeAll'>;
  readStore: ReadStore;
  erasures: Pick<Erasures, 'complete'>;
  logger: Logger;
}

/** Completes erasures that a crash interrupted after their user was erased. */
export const erasureLoop = ({ eventStore, readStore, erasures, logger }: ErasureLoopOptions): SupervisedLoop =>
  leasedLoop({
    name: 'erasures',
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      const after = await readStore.position(ERASURES_CHECKPOINT);
      for await (const batch of eventStore.subscribeAll(after, { types: ['UserErased'] }, signal)) {
        for (const event of batch.events) {
          const { userId } = userEvents.UserErased.data.parse(event.data);
          const metadata: EventMetadata = {
            correlationId: event.metadata.correlationId,
            causationId: event.id,
            actor: { type: 'system', id: 'account' },
          };
          await erasures.complete(userId, metadata);
        }
        await readStore.apply(ERASURES_CHECKPOINT, [], batch.position, batch.newestPermanent);
        reportRunning();
      }
    },
  });
