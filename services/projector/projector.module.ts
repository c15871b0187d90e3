import { Module } from '@nestjs/common';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { createWorker, type RunningWorker } from '../../shared/host/create-worker.ts';
import { Followers } from '../../shared/loops/checkpoint-loops.ts';
import type { WorkerFoundation } from '../../shared/host/foundation.module.ts';
import { EVENT_STORE, LOGGER, READ_STORE } from '../../shared/host/tokens.ts';
import type { Logger } from '../../shared/host/logger.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { projections } from './projections.ts';
import { projectionLoop } from './run-projection/projection-loop.ts';

/** Keeps every read model up with the event store. */
@Module({
  providers: [
    {
      provide: Followers,
      useFactory: (eventStore: EventStore, readStore: ReadStore, logger: Logger) => {
        const followers = projections.map((projection) => ({
          checkpoint: projection.name,
          loop: projectionLoop(projection, { eventStore, readStore, logger }),
        }));
        return new Followers(followers, eventStore, readStore);
      },
      inject: [EVENT_STORE, READ_STORE, LOGGER],
    },
  ],
  exports: [Followers],
})
class ProjectorModule {}

/** Starts the projector. Ready when every read model is caught up, or kept so by another process. */
export const startProjector = (foundation: WorkerFoundation): Promise<RunningWorker> =>
  createWorker(ProjectorModule, foundation);
