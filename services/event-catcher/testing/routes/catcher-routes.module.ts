import { expect } from '@jest/globals';
import type { RegisteredContract } from '../../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { TokenIssuer } from '../../../../shared/auth/access-tokens.jose.ts';
import { startService } from '../../../../shared/edge/start-service.ts';
import { Loops } from '../../../../shared/loops/loops.ts';
import { TestClock, testFoundation, type TestFoundation } from '../../../../shared/testing/test-foundation.ts';
import { testIssuer, type TestClaims } from '../../../../shared/testing/http/test-tokens.jose.ts';
import { CHAINS, FOLLOWER_STATUS, type FollowerStatus } from '../../edge/ports.ts';
import { composeCatchers, composeGateway } from '../../compose-gateway.ts';
import { EventCatcherModule } from '../../event-catcher.module.ts';
import { CHAIN_ID, DeployingChain, EVENT_URL, registration } from './catcher-fixtures.ts';
import { CaughtDocuments } from './caught-documents.ts';

interface Asked {
  signal?: AbortSignal;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** The app whose token is sent; `null` to send none. */
  app?: string | null;
  /** The user whose token is sent. */
  user?: string;
  /** Further claims of the token, or replacements. */
  claims?: TestClaims;
}

const announcementOf = ({ error }: { error: string | null }) => ({
  ...{ chainIds: [CHAIN_ID], failing: [], followed: [CHAIN_ID] },
  statuses: [{ chainId: CHAIN_ID, error, warning: null, backfills: [] }],
});

/** Serves the routes of the event catcher over HTTP, without a follower. */
export const serveCatcherRoutes = async (foundation: TestFoundation, issuer: TokenIssuer) => {
  const chain = new DeployingChain();
  const progress = {
    eventsPerSecond: 0,
    blocksPerSecond: 0,
    error: null as string | null,
    warning: null as string | null,
  };
  const follower: FollowerStatus = { statusOf: () => progress };

  const gateway = composeGateway(foundation, {
    catchers: composeCatchers(foundation),
    describe: () => announcementOf(progress),
    publicUrl: () => EVENT_URL,
  });
  const loops = new Loops(gateway.loops);
  const providers = [
    ...gateway.providers,
    { provide: CHAINS, useValue: new Map([[CHAIN_ID, chain]]) },
    { provide: FOLLOWER_STATUS, useValue: follower },
  ];

  const module = { module: EventCatcherModule, providers };
  const { connectionCallers } = gateway;
  const service = await startService({
    module,
    foundation,
    issuer,
    connectionCallers,
    loops,
    host: '127.0.0.1',
    port: 0,
  });
  return { service, chain, progress };
};

/** The routes, with stores, tokens and a clock of their own. Tests fill the read models. */
export const startCatcherRoutes = async (environment: Record<string, string> = {}) => {
  const clock = new TestClock(Date.now());
  const foundation = await testFoundation({ environment: { RATE_LIMITS: 'off', ...environment }, clock });
  const tokens = await testIssuer();
  const { service, chain, progress } = await serveCatcherRoutes(foundation, tokens.issuer);

  const ask = async (
    path: string,
    { app = 'app_1', user, claims, headers = {}, ...init }: Asked = {},
  ): Promise<Response> => {
    const bearer =
      app === null
        ? {}
        : {
            authorization: `Bearer ${await tokens.accessToken({ claims: { app, ...(user !== undefined && { sub: user }), ...claims } })}`,
          };
    return fetch(service.url + path, { ...init, headers: { ...bearer, ...headers } });
  };
  /** Sends a body as JSON. */
  const post = (path: string, body: object, { headers = {}, ...asked }: Asked = {}): Promise<Response> =>
    ask(path, {
      ...{ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } },
      ...asked,
    });
  const register = (changes: object = {}, app: string | null = 'app_1', user?: string): Promise<Response> =>
    post('/api/v1/contracts', registration(changes), { app, ...(user !== undefined && { user }) });
  /** Registers an event, which must succeed. */
  const registered = async (...asked: Parameters<typeof register>): Promise<RegisteredContract> => {
    const answer = await register(...asked);
    expect([200, 201]).toContain(answer.status);
    return (await answer.json()) as RegisteredContract;
  };
  const documents = new CaughtDocuments(foundation);
  const close = () => service.close();
  const caller = { ask, post, register, registered };
  return { foundation, service, tokens, chain, clock, progress, documents, ...caller, [Symbol.asyncDispose]: close };
};

export type CatcherRoutes = Awaited<ReturnType<typeof startCatcherRoutes>>;
