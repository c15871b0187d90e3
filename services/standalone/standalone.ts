import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { DevelopmentFile } from '../../schemas/development-file.ts';
import { ensureDevelopmentToken, type DevelopmentToken } from '../../shared/chain/development-token.ethers.ts';
import { endLeftOverChain, startLocalChain } from '../../shared/chain/local-chain-process.ts';
import { loadMasterKey } from '../../shared/config/master-key.ts';
import { chainSettings, type ChainSettings, type Settings } from '../../shared/config/settings.ts';
import { serveDocument } from '../../shared/documents/docs-page.ts';
import { closeEngines, openEngines, type Engines } from '../../shared/engines/engines.ts';
import { CannotStart } from '../../shared/errors/cannot-start.ts';
import { errorCode } from '../../shared/errors/error-code.ts';
import { remoteIssuer } from '../../shared/nest/access-tokens.jose.ts';
import type { RunningService } from '../../shared/nest/create-service.ts';
import { foundationModule, type Foundation } from '../../shared/nest/foundation.module.ts';
import type { Logger } from '../../shared/observability/logger.ts';
import { startMetricsServer } from '../../shared/observability/metrics-server.ts';
import { systemClock } from '../../shared/primitives/clock.ts';
import { systemIds } from '../../shared/primitives/ids.ts';
import { startAccount } from '../account/account.module.ts';
import { operateApps } from '../account/apps.module.ts';
import { startEventCatcher } from '../event-catcher/event-catcher.module.ts';
import { ProjectorModule } from '../projector/projector.module.ts';
import { RelayModule } from '../relay/relay.module.ts';
import { startStream } from '../stream/stream.module.ts';
import { ensureDevelopmentApp, writeDevelopmentFile } from './development-file.ts';
import type { Shutdown } from './shutdown.ts';

const LOCAL_CHAIN_ID = 2484;
/** Deep enough for any reorganisation somebody tries by hand, shallow enough to see finality. */
const LOCAL_CONFIRMATIONS = 12;

export interface Standalone {
  accountUrl: string;
  eventUrl: string;
  streamUrl: string;
  /** Absent in production. */
  development: DevelopmentFile | undefined;
}

interface Services {
  urls: { accountUrl: string; eventUrl: string; streamUrl: string };
  isReady: () => Promise<boolean>;
}

interface Chains {
  settings: ChainSettings[];
  localChainId?: number;
  token?: DevelopmentToken;
}

/** Starts everything in this process; what was started ends by `shutdown`, also when a later part does not start. */
export const startStandalone = async (settings: Settings, logger: Logger, shutdown: Shutdown): Promise<Standalone> => {
  const chains = await startChains(settings, shutdown);
  const engines = await open(settings);
  shutdown.add('engines', () => closeEngines(engines));
  const foundation: Foundation = {
    settings,
    logger,
    clock: systemClock,
    ids: systemIds,
    masterKey: loadMasterKey(settings),
    ...engines,
  };
  await startWorker('projector', ProjectorModule, foundation, shutdown);
  await startWorker('relay', RelayModule, foundation, shutdown);
  const { urls, isReady } = await startServices(foundation, chains, shutdown);
  await startMetrics(settings, isReady, shutdown);
  const development = settings.NODE_ENV === 'production' ? undefined : await developmentFor(foundation, chains, urls);
  return { ...urls, development };
};

const open = async (settings: Settings): Promise<Engines> => {
  try {
    return await openEngines(settings);
  } catch (cause) {
    if (errorCode(cause) !== 'ERR_SQLITE_ERROR' || !(cause instanceof Error)) throw cause;
    const what = `a store in ${settings.DATA_DIR} cannot be opened (${cause.message})`;
    throw new CannotStart(`${what}: put it back from a copy, or begin anew with npm start -- --fresh`, { cause });
  }
};

const startChains = async (settings: Settings, shutdown: Shutdown): Promise<Chains> => {
  if (settings.CHAINS) return { settings: settings.CHAINS };
  const folder = join(settings.DATA_DIR, 'chain');
  shutdown.add('a local chain that is still starting', () => endLeftOverChain(folder));
  const chain = await startLocalChain({ chainId: LOCAL_CHAIN_ID, folder, port: settings.LOCAL_CHAIN_PORT });
  shutdown.add('local chain', chain.stop);
  const { chainId, rpcUrl } = chain;
  const followed = chainSettings.parse({ chainId, rpcUrls: [rpcUrl], confirmations: LOCAL_CONFIRMATIONS });
  return { settings: [followed], localChainId: chainId, token: await ensureDevelopmentToken(rpcUrl) };
};

/** A part without a port of its own. */
const startWorker = async (name: string, module: Type, foundation: Foundation, shutdown: Shutdown): Promise<void> => {
  const root = { module: class WorkerRoot {}, imports: [foundationModule(foundation), module] };
  const context = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  shutdown.add(name, () => context.close());
};

const startServices = async (foundation: Foundation, chains: Chains, shutdown: Shutdown): Promise<Services> => {
  const { settings } = foundation;
  const running: RunningService[] = [];
  shutdown.add('services', () => closeAll(running));
  const keep = async <Service extends RunningService>(starting: Promise<Service>): Promise<Service> => {
    const service = await starting;
    running.push(service);
    return service;
  };
  const account = await keep(startAccount(foundation, { configure: serveDocument('openapi.account') }));
  const issuer = remoteIssuer(account.publicUrl, account.url);
  const eventCatcher = await keep(
    startEventCatcher(foundation, issuer, {
      chains: chains.settings,
      developmentChainId: chains.localChainId,
      configure: serveDocument('openapi.event-catcher'),
    }),
  );
  const stream = await keep(startStream(foundation, issuer));
  const urls = {
    accountUrl: account.publicUrl,
    eventUrl: settings.EVENT_URL ?? eventCatcher.url,
    streamUrl: settings.STREAM_URL ?? stream.url,
  };
  return { urls, isReady: async () => (await Promise.all(running.map((service) => service.isReady()))).every(Boolean) };
};

/** All at once: each finishes what is in flight. */
const closeAll = async (running: RunningService[]): Promise<void> => {
  const ends = await Promise.allSettled(running.map(({ close }) => close()));
  const failures = ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason as unknown);
  if (failures.length > 0) throw new AggregateError(failures);
};

const startMetrics = async (
  { METRICS_PORT, HOST }: Settings,
  isReady: () => Promise<boolean>,
  shutdown: Shutdown,
): Promise<void> => {
  if (METRICS_PORT === 'off') return;
  const metrics = await startMetricsServer({ host: HOST, port: METRICS_PORT }, isReady);
  shutdown.add('metrics', metrics.close);
};

const developmentFor = async (
  foundation: Foundation,
  chains: Chains,
  urls: Services['urls'],
): Promise<DevelopmentFile> => {
  const { DATA_DIR } = foundation.settings;
  const app = await ensureDevelopmentApp(operateApps(foundation), DATA_DIR);
  const [first] = chains.settings;
  const development = {
    ...urls,
    chainId: first?.chainId ?? LOCAL_CHAIN_ID,
    rpcUrl: first?.rpcUrls[0] ?? '',
    app,
    ...(chains.token && { token: chains.token }),
  };
  writeDevelopmentFile(DATA_DIR, development);
  return development;
};
