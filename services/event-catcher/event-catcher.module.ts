import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { JsonRpcChainReader } from '../../shared/chain/chain-reader.json-rpc.ts';
import type { ChainSettings } from '../../shared/config/settings.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { TokenIssuer } from '../../shared/auth/access-tokens.jose.ts';
import { createService, type RunningService, type ServiceOptions } from '../../shared/edge/start-service.ts';
import type { Foundation } from '../../shared/host/foundation.module.ts';
import { CLOCK, EVENT_STORE, IDS, LOGGER, READ_STORE } from '../../shared/host/tokens.ts';
import type { Logger } from '../../shared/host/logger.ts';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { Ids } from '../../shared/primitives/ids.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { CHAINS, PROGRESS, type FollowerProgress } from './edge/ports.ts';
import { WatchModels } from './edge/watch-models.ts';
import { ChainLoops, type ChainToFollow } from './follow-chain/chain-loops.ts';
import { ProgressMeter } from './follow-chain/progress-meter.ts';
import { GetWatchHandler, ListWatchesHandler } from './list-watches/list-watches.handler.ts';
import { ListWatchesHttp } from './list-watches/list-watches.http.ts';
import { QueryEventsHandler } from './query-events/query-events.handler.ts';
import { QueryEventsHttp } from './query-events/query-events.http.ts';
import { ReadStatusHandler } from './read-status/read-status.handler.ts';
import { ReadStatusHttp } from './read-status/read-status.http.ts';
import { RegisterContractHandler } from './register-contract/register-contract.handler.ts';
import { RegisterContractHttp } from './register-contract/register-contract.http.ts';

/** `readonly ChainToFollow[]` */
const CHAINS_TO_FOLLOW = Symbol('ChainsToFollow');

/** The event catcher: what is watched, what was caught, and how far that is. */
@Module({
  controllers: [RegisterContractHttp, ListWatchesHttp, QueryEventsHttp, ReadStatusHttp],
  providers: [
    { provide: ProgressMeter, useFactory: (clock: Clock) => new ProgressMeter(clock), inject: [CLOCK] },
    {
      provide: PROGRESS,
      useFactory: (meter: ProgressMeter, loops: ChainLoops): FollowerProgress => ({
        of: (watchId) => meter.of(watchId),
        errorOf: ({ id, chainId }) => meter.errorOf(id) ?? loops.errorOf(chainId),
      }),
      inject: [ProgressMeter, ChainLoops],
    },
    {
      provide: CHAINS,
      useFactory: (chains: readonly ChainToFollow[]) =>
        new Map(chains.map(({ settings, reader }) => [settings.chainId, reader])),
      inject: [CHAINS_TO_FOLLOW],
    },
    {
      provide: ChainLoops,
      useFactory: (
        chains: readonly ChainToFollow[],
        eventStore: EventStore,
        readStore: ReadStore,
        clock: Clock,
        ids: Ids,
        meter: ProgressMeter,
        logger: Logger,
      ) => new ChainLoops(chains, { eventStore, readStore, clock, ids, meter, logger }),
      inject: [CHAINS_TO_FOLLOW, EVENT_STORE, READ_STORE, CLOCK, IDS, ProgressMeter, LOGGER],
    },
    WatchModels,
    RegisterContractHandler,
    ListWatchesHandler,
    GetWatchHandler,
    QueryEventsHandler,
    ReadStatusHandler,
  ],
})
class EventCatcherModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly followed: ChainLoops,
    @Inject(CHAINS_TO_FOLLOW) private readonly chains: readonly ChainToFollow[],
  ) {}

  onApplicationBootstrap(): void {
    this.followed.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.followed.stop();
    for (const { reader } of this.chains) reader.close();
  }
}

export interface EventCatcherOptions extends Pick<ServiceOptions, 'configure'> {
  chains: readonly ChainSettings[];
  /** The one chain that may lose blocks. */
  developmentChainId?: number | undefined;
}

/** Starts the event catcher. Ready when every chain is followed. */
export const startEventCatcher = async (
  foundation: Foundation,
  issuer: TokenIssuer,
  { chains, developmentChainId, configure }: EventCatcherOptions,
): Promise<RunningService> => {
  const toFollow = chains.map((settings) => ({
    settings,
    reader: new JsonRpcChainReader(settings.chainId, settings.rpcUrls),
    isDevelopment: settings.chainId === developmentChainId,
  }));
  let followed: ChainLoops | undefined;
  return createService({
    module: {
      module: EventCatcherModule,
      providers: [{ provide: CHAINS_TO_FOLLOW, useValue: toFollow }],
    },
    foundation,
    issuer,
    host: foundation.settings.HOST,
    port: foundation.settings.EVENT_CATCHER_PORT,
    readiness: { following: () => followed?.areRunning ?? false },
    configure: async (app) => {
      followed = app.get(ChainLoops);
      await configure?.(app);
    },
  });
};
