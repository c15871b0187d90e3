import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Settings } from '../../shared/config/settings.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import { CLOCK, LOGGER, MASTER_KEY, MESSAGE_BUS, READ_STORE, SETTINGS } from '../../shared/nest/tokens.ts';
import type { SupervisedLoop } from '../../shared/lifecycle/supervised-loop.ts';
import type { Logger } from '../../shared/observability/logger.ts';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { Admission } from './connections/admission.ts';
import { Connections } from './connections/connections.ts';
import { EventsGateway } from './connections/events.gateway.ts';
import { tokenEndsLoop } from './connections/token-ends.ts';
import { Cursors } from './domain/cursor.ts';
import { STREAM_LIMITS, streamLimits, type StreamLimits } from './stream-limits.ts';
import { FinalizedFeed } from './subscriptions/finalized-feed.ts';
import { FindChannel } from './subscriptions/find-channel.ts';
import { LatestFeed } from './subscriptions/latest-feed.ts';
import { Subscriptions } from './subscriptions/subscriptions.ts';

/** The stream: what the catcher observes, to everyone who subscribed to it. */
@Module({
  providers: [
    { provide: STREAM_LIMITS, useFactory: (settings: Settings) => streamLimits(settings), inject: [SETTINGS] },
    { provide: Cursors, useFactory: (masterKey: Uint8Array) => new Cursors(masterKey), inject: [MASTER_KEY] },
    {
      provide: LatestFeed,
      useFactory: (messageBus: MessageBus, readStore: ReadStore, cursors: Cursors, clock: Clock, logger: Logger) =>
        new LatestFeed({ messageBus, readStore, cursors, clock, logger }),
      inject: [MESSAGE_BUS, READ_STORE, Cursors, CLOCK, LOGGER],
    },
    {
      provide: FinalizedFeed,
      useFactory: (readStore: ReadStore, cursors: Cursors, logger: Logger) =>
        new FinalizedFeed({ readStore, cursors, logger }),
      inject: [READ_STORE, Cursors, LOGGER],
    },
    {
      provide: Connections,
      useFactory: ({ connectionsPerUser }: StreamLimits) => new Connections(connectionsPerUser),
      inject: [STREAM_LIMITS],
    },
    FindChannel,
    Subscriptions,
    Admission,
    EventsGateway,
  ],
})
export class StreamModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loops: SupervisedLoop[];

  constructor(
    latest: LatestFeed,
    finalized: FinalizedFeed,
    connections: Connections,
    @Inject(READ_STORE) readStore: ReadStore,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.loops = [latest.tail.loop, finalized.loop, tokenEndsLoop({ connections, readStore, clock, logger })];
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
