import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { topics } from '../../schemas/topics.ts';
import type { Settings } from '../../shared/config/settings.ts';
import type { SupervisedLoop } from '../../shared/loops/supervised-loop.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import { AccessTokens, type TokenIssuer } from '../../shared/auth/access-tokens.jose.ts';
import { AppOrigins } from '../../shared/auth/app-origins.ts';
import { BatchServer } from '../../shared/message-bus/batch-server.ts';
import { createService, type RunningService } from '../../shared/edge/start-service.ts';
import type { Foundation, WithMessageBus } from '../../shared/host/foundation.module.ts';
import { ReadModels } from '../../shared/edge/projections.ts';
import { CLOCK, IDS, LOGGER, MASTER_KEY, MESSAGE_BUS, READ_STORE, SETTINGS } from '../../shared/host/tokens.ts';
import type { Logger } from '../../shared/host/logger.ts';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { Ids } from '../../shared/primitives/ids.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { composeStream, type Stream } from './compose-stream.ts';
import { Admission } from './connections/admission.ts';
import { Connections } from './connections/connections.ts';
import { EventsGateway } from './connections/events.gateway.ts';
import { tokenEndsLoop } from './connections/token-ends.ts';
import { streamLimits, type StreamLimits } from './edge/stream-limits.ts';
import { LIVE_TAIL, STREAM, STREAM_LIMITS, SUBSCRIPTIONS } from './edge/tokens.ts';
import type { LiveTail } from './subscriptions/live-tail.ts';
import { LiveTailConsumer } from './subscriptions/live-tail.consumer.ts';

/** The stream: what the catcher observes, to everyone who subscribed to it. */
@Module({
  controllers: [LiveTailConsumer],
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
    { provide: LIVE_TAIL, useFactory: ({ latest }: Stream) => latest.tail, inject: [STREAM] },
    {
      provide: BatchServer,
      useFactory: (messageBus: MessageBus, tail: LiveTail, logger: Logger) =>
        new BatchServer({ messageBus, logger, topics: [topics.chainEvents], startAt: () => tail.findStart() }),
      inject: [MESSAGE_BUS, LIVE_TAIL, LOGGER],
    },
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
class StreamModule implements OnApplicationBootstrap, OnApplicationShutdown {
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

/** Starts the stream service. Ready when all that was published has been read. */
export const startStream = (foundation: Foundation & WithMessageBus, issuer: TokenIssuer): Promise<RunningService> => {
  const { HOST, STREAM_PORT } = foundation.settings;
  let tail: LiveTail | undefined;
  let server: BatchServer | undefined;
  return createService({
    module: StreamModule,
    foundation,
    issuer,
    host: HOST,
    port: STREAM_PORT,
    readiness: { caughtUp: () => tail?.isCaughtUp ?? false, following: () => server?.isFollowing ?? false },
    configure: (app) => {
      tail = app.get<LiveTail>(LIVE_TAIL);
      server = app.get(BatchServer);
      app.connectMicroservice({ strategy: server });
    },
  });
};
