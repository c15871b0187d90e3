import 'reflect-metadata';
import { Module, type LoggerService, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { serviceUrl } from '../config/service-url.ts';
import { pause } from '../primitives/waiting/pause.ts';
import type { TokenIssuer } from '../auth/access-tokens.jose.ts';
import { AppOrigins } from '../auth/app-origins.ts';
import type { AppCallers } from './app-callers.ts';
import { edgeModule } from './edge.module.ts';
import type { Foundation, WithKeyVault, WithMessageBus, WithPersonalData } from '../host/foundation.ts';
import type { ConnectionCallers } from './connection-callers.ts';
import { foundationModule, type WithTransactor } from './foundation.module.ts';
import { Health, type Readiness } from '../host/health/health.ts';
import type { RunningPart } from '../host/running-part.ts';
import { Loops } from '../loops/loops.ts';
import { makeHttpServer, type Traffic } from './server/http-server.ts';
import { refuseOtherMethods } from './server/method-not-allowed.ts';
import { PositionHeader } from './answers/position-header.ts';
import { ProblemFilter } from './answers/problem.filter.ts';
import { RateLimits } from './limits/rate-limits.ts';
import { SharedCounts } from './limits/shared-counts.ts';

/** Default of `drainMs`. It leaves time to stop the modules within the 4.5 s of `STOP_SECONDS`. */
const DRAIN_MS = 2_000;
const DRAIN_POLL_MS = 5;

export interface ServiceOptions {
  /** The service's own module. */
  module: NonNullable<ModuleMetadata['imports']>[number];
  foundation: Foundation & Partial<WithMessageBus & WithPersonalData & WithKeyVault & WithTransactor>;
  /** The issuer of trusted access tokens: `remoteIssuer` everywhere except in the account service. */
  issuer: TokenIssuer;
  /** Only for a service that has routes for apps. */
  appCallers?: AppCallers;
  /** Only for a service that accepts connection tokens. */
  connectionCallers?: ConnectionCallers;
  host: string;
  /** 0 means any free port. */
  port: number;
  /** How long in-flight requests may take to finish when the service stops. Default: 2 s. */
  drainMs?: number | undefined;
  /** Started and stopped with the service. */
  loops?: Loops;
  readiness?: Readiness;
  /** Called before routes are bound: for documents, a socket adapter, a microservice. */
  configure?: (app: NestFastifyApplication) => Promise<void> | void;
}

export interface RunningService extends RunningPart {
  /** The service's URL, without a trailing slash. */
  url: string;
  app: NestFastifyApplication;
  /** Refuses new requests, finishes those in flight (for at most `drainMs`), then stops the modules and the loops. */
  close: () => Promise<void>;
}

/** Starts a Nest application on Fastify that follows the conventions of the interface. @throws CannotStart */
export const startService = async (options: ServiceOptions): Promise<RunningService> => {
  const {
    module,
    foundation,
    issuer,
    appCallers,
    connectionCallers,
    host,
    port,
    drainMs = DRAIN_MS,
    loops = new Loops([]),
    readiness = {},
    configure,
  } = options;
  const traffic: Traffic = { inFlight: 0, closing: false };
  const origins = new AppOrigins(foundation.readStore, foundation.clock);
  if (foundation.settings.NODE_ENV === 'production') await origins.refuseWildcards();
  const health = new Health(foundation, { signingKeys: issuer.hasKeys, ...readiness });
  const counts = new SharedCounts(foundation);
  const limits = new RateLimits(foundation.settings, counts, foundation.clock);
  const positions = new PositionHeader(foundation.edgeKey, foundation.eventStore);
  const server = makeHttpServer({ ...foundation, traffic, origins, limits, positions });
  const refuseRest = refuseOtherMethods(server);
  const edge = edgeModule({ foundation, issuer, appCallers, connectionCallers, limits, positions, health, origins });
  const app = await NestFactory.create<NestFastifyApplication>(
    { module: ServiceRoot, imports: [foundationModule(foundation), edge, CqrsModule.forRoot(), module] },
    new BareFastifyAdapter(server),
    { logger: nestLogger(foundation.logger), bodyParser: false, abortOnError: false },
  );
  app.useGlobalFilters(new ProblemFilter(foundation.logger));
  const stop = async () => {
    await app.close();
    await loops.stop();
    await counts.loop.stop();
  };
  try {
    await configure?.(app);
    await app.init();
    refuseRest();
    loops.start();
    counts.loop.start();
    await app.startAllMicroservices();
    await app.listen({ host, port });
  } catch (error) {
    await stop();
    throw error;
  }
  let closed: Promise<void> | undefined;
  return {
    url: serviceUrl(host, boundPort(server)),
    app,
    health: () => health.report(),
    close: () => (closed ??= drain(server, traffic, drainMs).then(stop)),
  };
};

@Module({})
class ServiceRoot {}

/** The server itself answers errors and unknown routes: Nest's handlers would hide Fastify's errors. */
class BareFastifyAdapter extends FastifyAdapter {
  override setErrorHandler() {
    return this.instance;
  }

  override setNotFoundHandler() {
    return this.instance;
  }
}

const boundPort = (server: FastifyInstance): number => {
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen');
  return address.port;
};

/** Refuses new requests, and returns when those in flight are answered, or after `drainMs`. */
const drain = async (server: FastifyInstance, traffic: Traffic, drainMs: number): Promise<void> => {
  traffic.closing = true;
  server.server.close();
  const deadline = performance.now() + drainMs;
  while (traffic.inFlight > 0 && performance.now() < deadline) await pause(DRAIN_POLL_MS);
  server.server.closeAllConnections();
};

const nestLogger = (logger: Logger): LoggerService => ({
  log: () => undefined,
  warn: (message: unknown) => {
    logger.warn(String(message));
  },
  error: (message: unknown) => {
    logger.error(String(message));
  },
});
