import { Module } from '@nestjs/common';
import { quotaOf } from '../../schemas/http/event-catcher/quotas.ts';
import type { TokenIssuer } from '../../shared/auth/access-tokens.jose.ts';
import { ChainClient } from '../../shared/chain/client/chain-client.ts';
import { JsonRpcChainReader } from '../../shared/chain/client/chain-reader.json-rpc.ts';
import { NewHeads } from '../../shared/chain/client/new-heads.websocket.ts';
import type { ChainSettings } from '../../shared/config/chain-settings.ts';
import { startService, type RunningService, type ServiceOptions } from '../../shared/edge/start-service.ts';
import { CLOCK, EDGE_KEY, EVENT_STORE, READ_STORE } from '../../shared/edge/tokens.ts';
import { Projections } from '../../shared/edge/answers/projections.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { Loops } from '../../shared/loops/loops.ts';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { Foundation } from '../../shared/host/foundation.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { composeCatchers, composeGateway } from './compose-gateway.ts';
import { CHAINS, FOLLOWER_STATUS } from './edge/ports.ts';
import { EarlierWatches } from './edge/earlier-watches.ts';
import { WatchQuotas } from './edge/watch-quotas.ts';
import { WatchModels } from './edge/watch-models.ts';
import { ChainLoops } from './follow-chain/chains/chain-loops.ts';
import { chainMetrics } from './follow-chain/chains/chain-metrics.ts';
import { ChainShares } from './follow-chain/chains/chain-shares.ts';
import { ChainStatuses } from './follow-chain/chains/chain-statuses.ts';
import { GatewayHttp } from './gateway/gateway.http.ts';
import { ListNodesHandler } from './gateway/list-nodes.handler.ts';
import { ValidateAccessHandler } from './gateway/validate-access.handler.ts';
import { GetWatchHandler, ListWatchesHandler } from './list-watches/list-watches.handler.ts';
import { ListWatchesHttp } from './list-watches/list-watches.http.ts';
import { ExportEventsHandler } from './query-events/export-events.handler.ts';
import { QueryEventsHandler } from './query-events/query-events.handler.ts';
import { QueryEventsHttp } from './query-events/query-events.http.ts';
import { RecordQueries } from './query-events/record-queries.ts';
import { ReadStatusHandler } from './read-status/read-status.handler.ts';
import { WatchStatuses } from './edge/watch-statuses.ts';
import { ReadStatusHttp } from './read-status/read-status.http.ts';
import { RegisterContractHandler } from './register-contract/register-contract.handler.ts';
import { TryRegistrationHandler } from './register-contract/try-registration.handler.ts';
import { RegisterContractHttp } from './register-contract/register-contract.http.ts';
import { ReplayWatchHandler } from './replay-watch/replay-watch.handler.ts';
import { ReplayWatchHttp } from './replay-watch/replay-watch.http.ts';
import { PauseContractHandler, RemoveContractHandler } from './stop-watch/stop-watch.handler.ts';
import { StopWatchHttp } from './stop-watch/stop-watch.http.ts';

/** The routes of the event catcher: registering, watches, records, and status. */
@Module({
  controllers: [
    RegisterContractHttp,
    ListWatchesHttp,
    QueryEventsHttp,
    ReadStatusHttp,
    StopWatchHttp,
    ReplayWatchHttp,
    GatewayHttp,
  ],
  providers: [
    WatchModels,
    EarlierWatches,
    WatchStatuses,
    WatchQuotas,
    {
      provide: RecordQueries,
      inject: [READ_STORE, EVENT_STORE, WatchModels, EarlierWatches, Projections, CLOCK, EDGE_KEY],
      useFactory: (
        readStore: ReadStore,
        eventStore: EventStore,
        watchModels: WatchModels,
        earlierWatches: EarlierWatches,
        projections: Projections,
        clock: Clock,
        edgeKey: Uint8Array,
      ) => new RecordQueries({ readStore, eventStore, watchModels, earlierWatches, projections, clock }, edgeKey),
    },
    RegisterContractHandler,
    TryRegistrationHandler,
    ListWatchesHandler,
    GetWatchHandler,
    QueryEventsHandler,
    ExportEventsHandler,
    ReadStatusHandler,
    RemoveContractHandler,
    PauseContractHandler,
    ReplayWatchHandler,
    ListNodesHandler,
    ValidateAccessHandler,
  ],
})
export class EventCatcherModule {}

export interface EventCatcherOptions extends Pick<ServiceOptions, 'configure'> {
  chains: readonly ChainSettings[];
  /** The chain, if any, that may lose final blocks. */
  developmentChainId?: number | undefined;
}

const BLOOMS_GIVEN_UP = 'the blooms of this chain are used no more: set "bloom": false for it in CHAINS';

/** Starts the event catcher. It is ready once every chain is followed, here or by another process. */
export const startEventCatcher = async (
  foundation: Foundation,
  issuer: TokenIssuer,
  { chains, developmentChainId, ...options }: EventCatcherOptions,
): Promise<RunningService> => {
  const { settings, logger } = foundation;
  const toFollow = chains.map((chain) => ({
    settings: chain,
    reader: new JsonRpcChainReader(new ChainClient(chain.chainId, chain.rpcUrls), {
      bloom: chain.bloom,
      ...(chain.finality === 'safe' && { finalName: chain.finality }),
      onFalseBloom: (what) => {
        logger.warn({ chainId: chain.chainId }, `${what}: ${BLOOMS_GIVEN_UP}`);
      },
    }),
    newHeads: new NewHeads(chain.wsUrls),
    isDevelopment: chain.chainId === developmentChainId,
  }));
  const chainIds = chains.map(({ chainId }) => chainId);
  const catchers = composeCatchers(foundation);
  const shares = new ChainShares({ ...foundation, chainIds, catchers });
  const followed = new ChainLoops(toFollow, {
    ...foundation,
    shares,
    most: { records: quotaOf(settings, 'backfillRecords'), blocks: quotaOf(settings, 'backfillBlocks') },
  });
  const statuses = new ChainStatuses({ shares, here: followed, catchers });
  const readers = new Map(toFollow.map(({ settings: { chainId }, reader }) => [chainId, reader]));
  let publicUrl = settings.EVENT_URL;
  const gateway = composeGateway(foundation, {
    catchers,
    describe: () => statuses.announcement,
    publicUrl: () => publicUrl,
  });
  const service = await startService({
    ...options,
    module: {
      module: EventCatcherModule,
      providers: [
        { provide: CHAINS, useValue: readers },
        { provide: FOLLOWER_STATUS, useValue: statuses },
        ...gateway.providers,
      ],
    },
    foundation,
    issuer,
    connectionCallers: gateway.connectionCallers,
    host: settings.HOST,
    port: settings.EVENT_CATCHER_PORT,
    loops: new Loops([...followed.each, ...gateway.loops]),
    readiness: { following: () => followed.loops.areWorking },
  });
  publicUrl ??= service.url;
  const projections = new Projections(foundation.readStore, foundation.eventStore);
  return {
    ...service,
    measured: chainMetrics({ chainIds, shares, followed, models: new WatchModels(foundation.readStore, projections) }),
    close: async () => {
      await service.close();
      for (const reader of readers.values()) reader.close();
      await Promise.all(toFollow.map(({ newHeads }) => newHeads.close()));
    },
  };
};
