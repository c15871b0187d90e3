import { Module } from '@nestjs/common';
import { NODES_KIND, type NodeAnnouncement } from '../../schemas/announcements.ts';
import { topics } from '../../schemas/topics.ts';
import { AccessTokens, type TokenIssuer } from '../../shared/auth/access-tokens.jose.ts';
import { AppEnds } from '../../shared/auth/app-ends.ts';
import { AppOrigins } from '../../shared/auth/app-origins.ts';
import { ConnectionTokens } from '../../shared/auth/connection-tokens.ts';
import { announcing } from '../../shared/cluster/announcing.ts';
import { SessionEnds } from '../../shared/auth/session-ends.ts';
import { ConnectionCallers } from '../../shared/edge/connection-callers.ts';
import { Projections } from '../../shared/edge/projections.ts';
import { startService, type RunningService } from '../../shared/edge/start-service.ts';
import { RateLimits } from '../../shared/edge/rate-limits.ts';
import { IDS, SETTINGS } from '../../shared/edge/tokens.ts';
import type { Foundation, WithMessageBus } from '../../shared/host/foundation.ts';
import { Loops } from '../../shared/loops/loops.ts';
import { BatchServer } from '../../shared/message-bus/batch-server.ts';
import type { Ids } from '../../shared/primitives/ids.ts';
import { composeStream } from './compose-stream.ts';
import { Admission } from './connections/admission.ts';
import { Connections } from './connections/connections.ts';
import { EventsGateway } from './connections/events.gateway.ts';
import { OpenSockets } from './connections/open-sockets.socketio.ts';
import { tokenExpiryLoop } from './connections/token-expiry.ts';
import { TrustedProxies } from './connections/trusted-proxies.ts';
import { nodeAt, type OwnNode } from './edge/own-node.ts';
import { streamLimits, type StreamLimits } from './edge/stream-limits.ts';
import { LIVE_TAIL, STREAM_LIMITS, SUBSCRIPTIONS } from './edge/tokens.ts';
import { LiveTailConsumer } from './subscriptions/live-tail.consumer.ts';

/** Sends the chain events that the event catcher stores to their subscribers. */
@Module({
  controllers: [LiveTailConsumer],
  providers: [
    {
      provide: Admission,
      useFactory: (...given: ConstructorParameters<typeof Admission>) => new Admission(...given),
      inject: [AppOrigins, AccessTokens, TrustedProxies, SETTINGS, ConnectionCallers],
    },
    {
      provide: OpenSockets,
      useFactory: (limits: RateLimits, streamLimits: StreamLimits, proxies: TrustedProxies, ids: Ids) =>
        new OpenSockets({ limits, streamLimits, proxies, ids }),
      inject: [RateLimits, STREAM_LIMITS, TrustedProxies, IDS],
    },
    EventsGateway,
  ],
})
class StreamModule {}

export interface StreamServiceOptions {
  /** Where clients find the routes of an event catcher. */
  eventUrl: string;
}

/** Starts the stream service. It is ready when it has read every published message. */
export const startStream = async (
  foundation: Foundation & WithMessageBus,
  issuer: TokenIssuer,
  { eventUrl }: StreamServiceOptions,
): Promise<RunningService> => {
  const { settings, messageBus, eventStore, readStore, edgeKey, clock, logger } = foundation;
  const limits = streamLimits(settings);
  const { loops, latest, subscriptions, genuine } = composeStream({
    ...foundation,
    projections: new Projections(readStore, eventStore),
    subscriptionsPerConnection: limits.subscriptionsPerConnection,
  });
  const { tail } = latest;
  const [sessions, apps] = [new SessionEnds(foundation), new AppEnds(foundation)];
  const connections = new Connections(limits.connectionsPerUser);
  const connectionTokens = new ConnectionTokens({ ...foundation, apps });
  // Where it is follows from its port, once it listens.
  let node: OwnNode | undefined = undefined;
  const connectionCallers: ConnectionCallers = {
    verify: (token) => connectionTokens.verify(token, ({ address }) => address === node?.address),
  };
  const server = new BatchServer({
    messageBus,
    logger,
    topics: [topics.chainEvents],
    startAt: () => tail.findStartOffsets(),
  });
  const service = await startService({
    module: {
      module: StreamModule,
      providers: [
        { provide: STREAM_LIMITS, useValue: limits },
        { provide: SUBSCRIPTIONS, useValue: subscriptions },
        { provide: LIVE_TAIL, useValue: tail },
        { provide: Connections, useValue: connections },
        { provide: ConnectionCallers, useValue: connectionCallers },
        { provide: TrustedProxies, useValue: new TrustedProxies(settings) },
      ],
    },
    foundation,
    issuer,
    host: settings.HOST,
    port: settings.STREAM_PORT,
    loops: new Loops([...loops, tokenExpiryLoop({ connections, sessions, apps, clock, logger })]),
    readiness: { caughtUp: () => tail.isCaughtUp, following: () => server.isFollowing },
    configure: (app) => {
      app.connectMicroservice({ strategy: server });
    },
  });
  const own = nodeAt(edgeKey, { domain: eventUrl, rpcDomain: settings.STREAM_URL ?? service.url });
  node = own;
  const announcement = announcing({
    kind: NODES_KIND,
    readStore,
    logger,
    describe: (): NodeAnnouncement => ({
      ...own,
      connections: connections.count,
      isReady: tail.isCaughtUp && server.isFollowing,
    }),
  });
  announcement.start();
  return {
    ...service,
    measured: [...(service.measured ?? []), genuine.measured],
    close: async () => {
      await Promise.all([announcement.stop(), service.close()]);
    },
  };
};
