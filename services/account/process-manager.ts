import type { Logger } from 'pino';
import type { EventMetadata } from '../../schemas/events/event.ts';
import { userEvents } from '../../schemas/events/account/user-events.ts';
import type { EventStore, StoredEvent } from '../../shared/event-store/event-store.ts';
import { leasedLoop } from '../../shared/loops/leased-loop.ts';
import type { SupervisedLoop } from '../../shared/loops/supervised-loop.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import type { Erasures } from './erase-user/erasures.ts';
import type { Unlinkings } from './login/unlink-identity/unlinkings.ts';

/** The name of its checkpoint. */
const CHECKPOINT = 'account-processes-v1';

interface ProcessManagerOptions {
  eventStore: Pick<EventStore, 'subscribeAll'>;
  readStore: ReadStore;
  erasures: Erasures;
  unlinkings: Unlinkings;
  logger: Logger;
}

/** Completes erasures and unlinkings that a crash interrupted after their first event was stored. */
export const processManager = ({
  eventStore,
  readStore,
  logger,
  ...processes
}: ProcessManagerOptions): SupervisedLoop =>
  leasedLoop({
    name: 'account processes',
    leases: readStore,
    logger,
    run: async (signal, reportRunning) => {
      const after = await readStore.position(CHECKPOINT);
      const filter = { types: ['UserErased', 'IdentityUnlinked'] };
      for await (const batch of eventStore.subscribeAll(after, filter, signal)) {
        for (const event of batch.events) await complete(event, processes);
        await readStore.apply(CHECKPOINT, [], batch.position, batch.newestPermanent);
        reportRunning();
      }
    },
  });

const complete = async (
  event: StoredEvent,
  { erasures, unlinkings }: Pick<ProcessManagerOptions, 'erasures' | 'unlinkings'>,
): Promise<void> => {
  const metadata: EventMetadata = {
    correlationId: event.metadata.correlationId,
    causationId: event.id,
    actor: { type: 'system', id: 'account' },
  };
  if (event.type === 'UserErased') {
    await erasures.complete(userEvents.UserErased.data.parse(event.data).userId, metadata);
  } else {
    const { userId, identityId, claim } = userEvents.IdentityUnlinked.data.parse(event.data);
    await unlinkings.complete({ userId, identityId, claim, position: event.position }, metadata);
  }
};
