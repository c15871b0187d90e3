import { Module } from '@nestjs/common';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { startService } from '../../../shared/edge/start-service.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { testIssuer } from '../../../shared/testing/test-tokens.jose.ts';
import { formerWatchIdOf, watchStream } from '../domain/watch.ts';
import { CHAINS, FOLLOWER_STATUS, type FollowerStatus } from '../edge/ports.ts';
import { WatchQuotas } from '../edge/watch-quotas.ts';
import { WatchModels } from '../edge/watch-models.ts';
import { GetWatchHandler, ListWatchesHandler } from '../list-watches/list-watches.handler.ts';
import { ListWatchesHttp } from '../list-watches/list-watches.http.ts';
import { ExportEventsHandler } from '../query-events/export-events.handler.ts';
import { QueryEventsHandler } from '../query-events/query-events.handler.ts';
import { QueryEventsHttp } from '../query-events/query-events.http.ts';
import { ReadStatusHandler } from '../read-status/read-status.handler.ts';
import { ReadStatusHttp } from '../read-status/read-status.http.ts';
import { RegisterContractHandler } from '../register-contract/register-contract.handler.ts';
import { RegisterContractHttp } from '../register-contract/register-contract.http.ts';
import { PauseContractHandler, RemoveContractHandler } from '../stop-watch/stop-watch.handler.ts';
import { StopWatchHttp } from '../stop-watch/stop-watch.http.ts';
import { CHAIN_ID, DeployingChain, registration } from './catcher-fixtures.ts';
import { CaughtDocuments } from './caught-documents.ts';

const handlers = [
  RegisterContractHandler,
  ListWatchesHandler,
  GetWatchHandler,
  QueryEventsHandler,
  ExportEventsHandler,
  ReadStatusHandler,
  RemoveContractHandler,
  PauseContractHandler,
];

interface Asked {
  signal?: AbortSignal;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** The app whose token is sent; `null` to send none. */
  app?: string | null;
  /** The user whose token is sent. */
  user?: string;
}

/** Serves the routes of the event catcher over HTTP, without a follower: tests fill the read models. */
export const startCatcherRoutes = async (environment: Record<string, string> = {}) => {
  const clock = new TestClock(Date.now());
  const foundation = await testFoundation({ environment: { RATE_LIMITS: 'off', ...environment }, clock });
  const tokens = await testIssuer();
  const chain = new DeployingChain();
  const progress = { eventsPerSecond: 0, blocksPerSecond: 0, error: null as string | null };
  const follower: FollowerStatus = { ratesOf: () => progress, errorOf: () => progress.error };

  @Module({
    controllers: [RegisterContractHttp, ListWatchesHttp, QueryEventsHttp, ReadStatusHttp, StopWatchHttp],
    providers: [
      { provide: CHAINS, useValue: new Map([[CHAIN_ID, chain]]) },
      { provide: FOLLOWER_STATUS, useValue: follower },
      WatchModels,
      WatchQuotas,
      ...handlers,
    ],
  })
  class CatcherRoutesModule {}

  const { issuer } = tokens;
  const service = await startService({ module: CatcherRoutesModule, foundation, issuer, host: '127.0.0.1', port: 0 });

  const ask = async (path: string, { app = 'app_1', user, headers = {}, ...init }: Asked = {}): Promise<Response> => {
    const bearer =
      app === null
        ? {}
        : {
            authorization: `Bearer ${await tokens.accessToken({ claims: { app, ...(user !== undefined && { sub: user }) } })}`,
          };
    return fetch(service.url + path, { ...init, headers: { ...bearer, ...headers } });
  };
  const register = (changes: object = {}, app: string | null = 'app_1', user?: string): Promise<Response> =>
    ask('/api/v1/contracts', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(registration(changes)),
      app,
      ...(user !== undefined && { user }),
    });
  /** Stores the watch of the token's transfers as it was registered when its id depended on its signature only. */
  const registerAsFormerly = async (anonymous = false): Promise<string> => {
    const { watchId: _watchId, ...registered } = eventExamples.ContractRegistered;
    const fragment = { ...registered.fragment, anonymous };
    const watchId = formerWatchIdOf({ ...registered, fragment });
    const data = { ...registered, watchId, fragment, ...(anonymous && { topic0: null }), appId: 'app_1' };
    await foundation.eventStore.append(watchStream(watchId), -1, [anEvent({ type: 'ContractRegistered', data })]);
    return watchId;
  };
  const documents = new CaughtDocuments(foundation);
  return { foundation, service, tokens, chain, clock, progress, documents, ask, register, registerAsFormerly };
};
export type CatcherRoutes = Awaited<ReturnType<typeof startCatcherRoutes>>;
