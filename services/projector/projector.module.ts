import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { SupervisedLoop } from '../../shared/lifecycle/supervised-loop.ts';
import { EVENT_STORE, LOGGER, READ_STORE } from '../../shared/nest/tokens.ts';
import type { Logger } from '../../shared/observability/logger.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { projections } from './projections.ts';
import { projectionLoop } from './run-projection/projection-runner.ts';

/** Keeps every read model up with the event store. */
@Module({})
export class ProjectorModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loops: SupervisedLoop[];

  constructor(
    @Inject(EVENT_STORE) eventStore: EventStore,
    @Inject(READ_STORE) readStore: ReadStore,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.loops = projections.map((projection) => projectionLoop(projection, { eventStore, readStore, logger }));
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
