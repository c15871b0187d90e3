import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Settings } from '../../shared/config/settings.ts';
import type { SupervisedLoop } from '../../shared/lifecycle/supervised-loop.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import { AccessTokens } from '../../shared/nest/access-tokens.jose.ts';
import { AppOrigins } from '../../shared/nest/app-origins.ts';
import { ReadModels } from '../../shared/nest/read-models.ts';
import { CLOCK, IDS, LOGGER, MASTER_KEY, MESSAGE_BUS, READ_STORE, SETTINGS } from '../../shared/nest/tokens.ts';
import type { Logger } from '../../shared/observability/logger.ts';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { Ids } from '../../shared/primitives/ids.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { composeStream, type Stream } from './compose-stream.ts';
import { Admission } from './connections/admission.ts';
import { Connections } from './connections/connections.ts';
import { EventsGateway } from './connections/events.gateway.ts';
import { tokenEndsLoop } from './connections/token-ends.ts';
import { streamLimits, type StreamLimits } from './edge/stream-limits.ts';
import { STREAM, STREAM_LIMITS, SUBSCRIPTIONS } from './edge/tokens.ts';

/** The stream: what the catcher observes, to everyone who subscribed to it. */
@Module({
  providers: [
    { provide: STREAM_LIMITS, useFactory: (settings: Settings) => streamLimits(settings), inject: [SETTINGS] },
    {
      provide: STREAM,
      useFactory: (
        messageBus: MessageBus,
        readStore: ReadStore,
        readModels: ReadModels,
        masterKey: Uint8Array,
        { subscriptionsPerConnection }: StreamLimits,
        clock: Clock,
        ids: Ids,
        logger: Logger,
      ) =>
        composeStream({ messageBus, readStore, readModels, masterKey, subscriptionsPerConnection, clock, ids, logger }),
      inject: [MESSAGE_BUS, READ_STORE, ReadModels, MASTER_KEY, STREAM_LIMITS, CLOCK, IDS, LOGGER],
    },
    { provide: SUBSCRIPTIONS, useFactory: ({ subscriptions }: Stream) => subscriptions, inject: [STREAM] },
    {
      provide: Connections,
      useFactory: ({ connectionsPerUser }: StreamLimits) => new Connections(connectionsPerUser),
      inject: [STREAM_LIMITS],
    },
    {
      provide: Admission,
      useFactory: (origins: AppOrigins, tokens: AccessTokens, settings: Settings) =>
        new Admission(origins, tokens, settings),
      inject: [AppOrigins, AccessTokens, SETTINGS],
    },
    EventsGateway,
  ],
})
export class StreamModule implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loops: SupervisedLoop[];

  constructor(
    @Inject(STREAM) { latest, finalized }: Stream,
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
