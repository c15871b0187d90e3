import { loadEdgeKey } from '../keys/master-key.ts';
import { requiredByService, type ServiceName } from '../config/services.ts';
import { isEmbedded, useDataFolder, type EngineName, type Engines } from './engines/engines.ts';
import { openFoundation, type Foundation, type WorkerFoundation } from './foundation.ts';
import { requireFreePorts } from './preflight.ts';
import { runProcess, type StartingProcess } from './run-process.ts';
import type { RunningPart } from './running-part.ts';
import { serveHealth } from './health/serve-health.ts';
import { untilReady } from './health/until-ready.ts';

/** A foundation with these engines only. */
type FoundationWith<Base, Name extends EngineName> = Omit<Base, EngineName> & Pick<Engines, Name>;

interface PartDefinition<Base, Name extends EngineName> {
  /** As in `annals <name>`. */
  name: ServiceName;
  engines: readonly Name[];
  start: (foundation: FoundationWith<Base, Name>) => RunningPart | Promise<RunningPart>;
}

interface ServiceDefinition<Name extends EngineName> extends PartDefinition<Foundation, Name> {
  /** The setting of its port. */
  port: 'ACCOUNT_PORT' | 'EVENT_CATCHER_PORT' | 'STREAM_PORT';
  /** Whether it writes into `DATA_DIR` even if no engine is embedded and `MASTER_KEY` is set. */
  keepsFiles?: boolean;
}

/** Runs a part without a port as a process of its own. Such a part does not receive the master key. */
export const runWorker = <Name extends EngineName>(worker: PartDefinition<WorkerFoundation, Name>): Promise<void> =>
  runProcess((starting) => {
    if (keepsStores(worker.engines, starting)) useDataFolder(starting);
    return runPart(worker, starting);
  }, requiredByService[worker.name]);

/** Runs a part that listens on a port as a process of its own. */
export const runService = <Name extends EngineName>(service: ServiceDefinition<Name>): Promise<void> => {
  const { port, keepsFiles = false, start } = service;
  return runProcess(async (starting) => {
    const { settings } = starting;
    if (
      keepsFiles ||
      (settings.EDGE_KEY ?? settings.MASTER_KEY) === undefined ||
      keepsStores(service.engines, starting)
    ) {
      useDataFolder(starting);
    }
    await requireFreePorts([{ setting: port, host: settings.HOST, port: settings[port] }]);
    const edgeKey = loadEdgeKey(settings);
    return runPart({ ...service, start: (foundation) => start({ ...foundation, edgeKey }) }, starting);
  }, requiredByService[service.name]);
};

/**
 * Checks the part's requirements, then opens the engines and starts the part and health, which end in the reverse
 * order.
 * @returns what to print once it is ready
 */
const runPart = async <Name extends EngineName>(
  { name, engines: names, start }: PartDefinition<WorkerFoundation, Name>,
  starting: StartingProcess,
): Promise<string> => {
  const { settings, logger, shutdown } = starting;
  await requireFreePorts([{ setting: 'METRICS_PORT', host: settings.HOST, port: settings.METRICS_PORT }]);
  const foundation = await openFoundation(starting, names);
  const running = await start(foundation);
  shutdown.add(name, () => running.close());
  const metricsUrl = await serveHealth(starting, { [name]: running }, foundation.processHealth);
  const where = [running.url, metricsUrl && `metrics ${metricsUrl}`].filter(Boolean).join(', ');
  logger.debug(`listening: ${where}`);
  await untilReady([running], { logger, signal: shutdown.signal });
  return `annals ${name} is ready in ${(performance.now() / 1_000).toFixed(1)} s${where && `: ${where}`}\n`;
};

const keepsStores = (engines: readonly EngineName[], { settings }: StartingProcess): boolean =>
  engines.some((name) => isEmbedded(name, settings));
