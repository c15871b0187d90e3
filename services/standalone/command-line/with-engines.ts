import { loadSettings } from '../../../shared/config/load-settings.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { closeEngines, isEmbedded, openEngines, useDataFolder } from '../../../shared/host/engines.ts';
import type { EngineName, Engines } from '../../../shared/host/engines.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { Shutdown } from '../../../shared/host/shutdown.ts';

/**
 * Runs a command of an operator with these engines, beside services that run or without any.
 * @param keepsFiles whether it uses `DATA_DIR` even if none of them is embedded
 */
export const withEngines = async <Name extends EngineName, Result>(
  { names, keepsFiles }: { names: readonly Name[]; keepsFiles: boolean },
  work: (engines: Pick<Engines, Name>, settings: Settings) => Result | Promise<Result>,
): Promise<Result> => {
  const { settings } = loadSettings(process.env, {});
  const logger = createLogger(settings);
  const shutdown = new Shutdown(logger);
  try {
    if (keepsFiles || names.some((name) => isEmbedded(name, settings))) useDataFolder({ settings, shutdown });
    const engines = await openEngines(settings, logger, names);
    shutdown.add('engines', () => closeEngines(engines));
    return await work(engines, settings);
  } finally {
    await shutdown.run();
  }
};
