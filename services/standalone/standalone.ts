import { join } from 'node:path';
import type { DevelopmentFile } from '../../schemas/development-file.ts';
import { MAILBOX_PATH } from '../../schemas/http/account/development-mailbox.ts';
import { accountRoutes } from '../../schemas/http/account/account-routes.ts';
import {
  ensureDevelopmentToken,
  LOCAL_FUNDER_KEY,
  type DevelopmentToken,
} from '../../shared/local-chain/development-token.ethers.ts';
import { endLeftOverChain, LOCAL_FINAL_DEPTH, startLocalChain } from '../../shared/local-chain/local-chain-process.ts';
import { requireServedChains } from '../../shared/chain/served-chains.ts';
import { loadEdgeKey, loadMasterKey } from '../../shared/keys/master-key.ts';
import { chainSettings, type ChainSettings } from '../../shared/config/chain-settings.ts';
import { type Settings } from '../../shared/config/settings.ts';
import { serveDocument } from '../../shared/documents/docs-page.ts';
import { everyEngine } from '../../shared/host/engines/engines.ts';
import type { StartingProcess } from '../../shared/host/run-process.ts';
import type { RunningPart } from '../../shared/host/running-part.ts';
import { serveHealth } from '../../shared/host/health/serve-health.ts';
import { untilReady } from '../../shared/host/health/until-ready.ts';
import type { Shutdown } from '../../shared/host/shutdown.ts';
import { remoteIssuer } from '../../shared/auth/access-tokens.jose.ts';
import {
  openFoundation,
  type Foundation,
  type WithKeyVault,
  type WithMessageBus,
} from '../../shared/host/foundation.ts';
import { startAccount } from '../account/account.module.ts';
import { appAdministration } from '../account/app-administration.ts';
import { chainAdministration, type PreparedChain } from '../onchain/chain-administration.ts';
import { startEventCatcher } from '../event-catcher/event-catcher.module.ts';
import { startStream } from '../stream/stream.module.ts';
import { ensureDevelopmentApp, writeDevelopmentFile } from './development-file.ts';
import { startWorkers } from './worker-threads.ts';

const LOCAL_CHAIN_ID = 2484;
/** How long a start waits until it is ready, before it says that it is not. */
const PATIENCE_MS = 15_000;

export interface Standalone {
  accountUrl: string;
  eventUrl: string;
  streamUrl: string;
  /**
   * Whether `/health/ready` of every service was 200 in time. A chain that does not answer delays only what depends on
   * it.
   */
  isReady: boolean;
  /** Absent in production. */
  development: DevelopmentFile | undefined;
}

interface Services {
  urls: { accountUrl: string; eventUrl: string; streamUrl: string };
  parts: Readonly<Record<string, RunningPart>>;
}

interface Chains {
  settings: ChainSettings[];
  localChainId?: number;
  token?: DevelopmentToken;
  /** How the local chain was prepared. */
  onchain?: PreparedChain | undefined;
}

/** Starts everything in this process. `shutdown` stops what has started, also if a later part fails to start. */
export const startStandalone = async (starting: StartingProcess): Promise<Standalone> => {
  const { settings, shutdown } = starting;
  const chains = await startChains(settings, shutdown);
  const { messageBus, ...withoutBus } = await openFoundation(starting, everyEngine);
  const foundation: Foundation & WithKeyVault = {
    ...withoutBus,
    masterKey: loadMasterKey(settings),
    edgeKey: loadEdgeKey(settings),
  };
  const withBus = { ...foundation, messageBus };
  const onchain = await prepareLocalChain(foundation, chains);
  const { urls, parts } = await startServices(foundation, withBus, chains, shutdown);
  await serveHealth(starting, parts, foundation.processHealth);
  const development =
    settings.NODE_ENV === 'production' ? undefined : await developmentFor(foundation, { ...chains, onchain }, urls);
  const isReady = await untilReady(Object.values(parts), {
    ...starting,
    signal: shutdown.signal,
    patienceMs: PATIENCE_MS,
  });
  // Replaces the answer from before the start was complete, which is cached for a second.
  foundation.processHealth.report(parts);
  return { ...urls, isReady, development };
};

/** The share of `STOP_SECONDS` that the local chain has to write its state. */
const CHAIN_SHARE = 0.9;

const startChains = async (settings: Settings, shutdown: Shutdown): Promise<Chains> => {
  if (settings.CHAINS) {
    await requireServedChains(settings.CHAINS);
    return { settings: settings.CHAINS };
  }
  const folder = join(settings.DATA_DIR, 'chain');
  const stopsWithinMs = settings.STOP_SECONDS * CHAIN_SHARE * 1_000;
  shutdown.add('a local chain that is still starting', () => endLeftOverChain(folder, stopsWithinMs));
  const chain = await startLocalChain({
    chainId: LOCAL_CHAIN_ID,
    folder,
    port: settings.LOCAL_CHAIN_PORT,
    stopsWithinMs,
  });
  shutdown.add('local chain', chain.stop);
  const { chainId, rpcUrl } = chain;
  const wsUrls = [rpcUrl.replace('http:', 'ws:')];
  const followed = chainSettings.parse({ chainId, rpcUrls: [rpcUrl], wsUrls, confirmations: LOCAL_FINAL_DEPTH });
  return { settings: [followed], localChainId: chainId, token: await ensureDevelopmentToken(rpcUrl) };
};

/** Gas costs nothing on the local chain. */
const LOCAL_FUNDS = { depositWei: 100n * 10n ** 18n, executors: 4, executorWei: 10n * 10n ** 18n };

const prepareLocalChain = async (
  foundation: Foundation & WithKeyVault,
  { settings, localChainId }: Chains,
): Promise<PreparedChain | undefined> => {
  const local = settings.find(({ chainId }) => chainId === localChainId);
  return local && chainAdministration(foundation).prepare(local, { funderKey: LOCAL_FUNDER_KEY, ...LOCAL_FUNDS });
};

const contractsOf = ({ entryPoint, accountFactory, paymaster }: PreparedChain) => ({
  entryPoint,
  accountFactory,
  paymaster,
});

const startServices = async (
  foundation: Foundation & WithKeyVault,
  withBus: Foundation & WithMessageBus,
  chains: Chains,
  shutdown: Shutdown,
): Promise<Services> => {
  const { settings } = foundation;
  const parts: Record<string, RunningPart> = {};
  shutdown.add('services', () => closeAll(Object.values(parts)));
  const keep = async <Started extends RunningPart>(name: string, starting: Started | Promise<Started>) => {
    const part = await starting;
    parts[name] = part;
    shutdown.signal.throwIfAborted();
    return part;
  };
  const workers = await startWorkers(foundation);
  for (const [name, worker] of Object.entries(workers)) await keep(name, worker);
  const account = await keep(
    'account',
    startAccount(
      { ...foundation, settings: { ...settings, CHAINS: chains.settings } },
      { configure: serveDocument('openapi.account', settings) },
    ),
  );
  const issuer = remoteIssuer(account.publicUrl, account.url + accountRoutes.publicKeys.path);
  const eventCatcher = await keep(
    'event-catcher',
    startEventCatcher(foundation, issuer, {
      chains: chains.settings,
      developmentChainId: chains.localChainId,
      configure: serveDocument('openapi.event-catcher', settings),
    }),
  );
  const eventUrl = settings.EVENT_URL ?? eventCatcher.url;
  const stream = await keep(
    'stream',
    startStream(withBus, issuer, { eventUrl, configure: serveDocument('openapi.stream', settings) }),
  );
  const urls = { accountUrl: account.publicUrl, eventUrl, streamUrl: settings.STREAM_URL ?? stream.url };
  return { urls, parts };
};

/** Closes all parts concurrently, because each may wait for requests to an engine that is down. */
const closeAll = async (running: readonly RunningPart[]): Promise<void> => {
  const ends = await Promise.allSettled(running.map(({ close }) => close()));
  const failures = ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason as unknown);
  if (failures.length > 0) throw new AggregateError(failures);
};

const developmentFor = async (
  foundation: Foundation,
  chains: Chains,
  urls: Services['urls'],
): Promise<DevelopmentFile> => {
  const { DATA_DIR } = foundation.settings;
  const app = await ensureDevelopmentApp(appAdministration(foundation), {
    dataFolder: DATA_DIR,
    localChainId: chains.localChainId,
  });
  const [first] = chains.settings;
  const development = {
    ...urls,
    chainId: first?.chainId ?? LOCAL_CHAIN_ID,
    rpcUrl: first?.rpcUrls[0] ?? '',
    mailboxUrl: urls.accountUrl + MAILBOX_PATH,
    app,
    ...(chains.onchain && { onchain: contractsOf(chains.onchain) }),
    ...(chains.token && { token: chains.token }),
  };
  writeDevelopmentFile(DATA_DIR, development);
  return development;
};
