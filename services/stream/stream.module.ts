import { Module } from '@nestjs/common';
import { NODES_KIND, type NodeAnnouncement } from '../../schemas/announcements.ts';
import { topics } from '../../schemas/topics.ts';
import { AccessTokens, type TokenIssuer } from '../../shared/auth/access-tokens.jose.ts';
import { AppEnds } from '../../shared/auth/app-ends.ts';
import { AppOrigins } from '../../shared/auth/app-origins.ts';
import { ConnectionTokens } from '../../shared/auth/connection-tokens.ts';
import { announcing } from '../../shared/coordination/announcing.ts';
import { SessionEnds } from '../../shared/auth/session-ends.ts';
import { ConnectionCallers } from '../../shared/edge/connection-callers.ts';
import { Projections } from '../../shared/edge/answers/projections.ts';
import { startService, type RunningService, type ServiceOptions } from '../../shared/edge/start-service.ts';
import { RateLimits } from '../../shared/edge/limits/rate-limits.ts';
import { IDS, SETTINGS } from '../../shared/edge/tokens.ts';
import type { Foundation, WithMessageBus } from '../../shared/host/foundation.ts';
import { Loops } from '../../shared/loops/loops.ts';
import { BatchServer } from '../../shared/message-bus/consumers/batch-server.ts';
import type { Ids } from '../../shared/primitives/ids.ts';
import { composeStream } from './compose-stream.ts';
import { Admission } from './connections/admission.ts';
import { Connections } from './connections/connections.ts';
import { EventsGateway } from './connections/events.gateway.ts';
import { OpenSockets } from './connections/sockets/open-sockets.socketio.ts';
import { tokenExpiryLoop } from './connections/token-expiry.ts';
import { TrustedProxies } from './connections/trusted-proxies.ts';
import { nodeAt, type OwnNode } from './edge/own-node.ts';
import { streamLimits, type StreamLimits } from './edge/stream-limits.ts';
import { StreamMetrics } from './edge/stream-metrics.ts';
import { LIVE_TAIL, STREAM_LIMITS, STREAM_METRICS, STREAM_PAGES, SUBSCRIPTIONS } from './edge/tokens.ts';
import { ReadStreamHttp } from './connections/plain-http/read-stream.http.ts';
import { LiveTailConsumer } from './subscriptions/feeds/live-tail.consumer.ts';

/** Sends the chain events that the event catcher stores to their subscribers. */
@Module({
  controllers: [LiveTailConsumer, ReadStreamHttp],
  providers: [
    {
      provide: Admission,
      useFactory: (...given: ConstructorParameters<typeof Admission>) => new Admission(...given),
      inject: [AppOrigins, AccessTokens, TrustedProxies, SETTINGS, ConnectionCallers],
    },
    {
      provide: OpenSockets,
      useFactory: (
        limits: RateLimits,
        streamLimits: StreamLimits,
        proxies: TrustedProxies,
        ids: Ids,
        metrics: StreamMetrics,
      ) => new OpenSockets({ limits, streamLimits, proxies, ids, metrics }),
      inject: [RateLimits, STREAM_LIMITS, TrustedProxies, IDS, STREAM_METRICS],
    },
    EventsGateway,
  ],
})
class StreamModule {}

export interface StreamServiceOptions extends Pick<ServiceOptions, 'drainMs' | 'configure'> {
  /** Where clients find the routes of an event catcher. */
  eventUrl: string;
  /** Replaces limits of the settings. */
  limits?: Partial<StreamLimits>;
}

/** Starts the stream service. Ready once it has read every published message. */
export const startStream = async (
  foundation: Foundation & WithMessageBus,
  issuer: TokenIssuer,
  { eventUrl, limits: replaced, configure, ...draining }: StreamServiceOptions,
): Promise<RunningService> => {
  const { settings, messageBus, eventStore, readStore, edgeKey, clock, logger } = foundation;
  const limits: StreamLimits = { ...streamLimits(settings), ...replaced };
  const metrics = new StreamMetrics();
  const { loops, latest, subscriptions, pages, genuine } = composeStream({
    ...foundation,
    metrics,
    projections: new Projections(readStore, eventStore),
    subscriptionsPerConnection: limits.subscriptionsPerConnection,
  });
  const { tail } = latest;
  const apps = new AppEnds(foundation);
  const connections = new Connections(limits.connectionsPerUser);
  const connectionTokens = new ConnectionTokens({ ...foundation, apps });
  // The node's URL depends on the port, which is known once the service listens.
  let node: OwnNode | undefined = undefined;
  const connectionCallers: ConnectionCallers = {
    verify: (token) => connectionTokens.verify(token, ({ address }) => address === node?.address),
  };
  const startAt = () => tail.startAt();
  const server = new BatchServer({ messageBus, logger, topics: [topics.chainEvents], startAt });
  const service = await startService({
    module: {
      module: StreamModule,
      providers: [
        { provide: STREAM_LIMITS, useValue: limits },
        { provide: STREAM_METRICS, useValue: metrics },
        { provide: SUBSCRIPTIONS, useValue: subscriptions },
        { provide: STREAM_PAGES, useValue: pages },
        { provide: LIVE_TAIL, useValue: tail },
        { provide: Connections, useValue: connections },
        { provide: ConnectionCallers, useValue: connectionCallers },
        { provide: TrustedProxies, useValue: new TrustedProxies(settings) },
      ],
    },
    foundation,
    issuer,
    ...{ host: settings.HOST, port: settings.STREAM_PORT, ...draining },
    loops: new Loops([
      ...loops,
      tokenExpiryLoop({ connections, sessions: new SessionEnds(foundation), apps, clock, logger }),
    ]),
    readiness: { caughtUp: () => tail.isCaughtUp, following: () => server.isFollowing },
    configure: (app) => {
      app.connectMicroservice({ strategy: server });
      return configure?.(app);
    },
  });
  const own = nodeAt(edgeKey, { domain: eventUrl, rpcDomain: settings.STREAM_URL ?? service.url });
  node = own;
  const isReady = () => tail.isCaughtUp && server.isFollowing;
  const partitioning = messageBus.partitioning(topics.chainEvents);
  const describe = (): NodeAnnouncement => ({
    ...{ ...own, connections: connections.count, isReady: isReady(), partitions: tail.partitions, partitioning },
  });
  const announcement = announcing({ kind: NODES_KIND, readStore, logger, describe });
  announcement.start();
  return {
    ...service,
    measured: [...(service.measured ?? []), genuine.measured, ...metrics.measured(connections)],
    close: async () => {
      // First, because a request for an event stream ends only when it is told to.
      await Promise.all([announcement.stop(), connections.drain()]);
      await service.close();
    },
  };
};
