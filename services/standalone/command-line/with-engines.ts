import { loadSettings } from '../../../shared/config/load-settings.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { closeEngines, isEmbedded, openEngines, useDataFolder } from '../../../shared/host/engines.ts';
import type { EngineName, Engines } from '../../../shared/host/engines.ts';
import { haveFolderAlone } from '../../../shared/host/folder-locks.sqlite.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { Shutdown } from '../../../shared/host/shutdown.ts';
import { thisVault } from '../../../shared/host/this-vault.ts';
import { requireOwnVault } from '../../../shared/key-vault/own-vault.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';

interface EnginesToOpen<Name extends EngineName> {
  names: readonly Name[];
  keepsFiles: boolean;
  vault?: VaultUse;
}

export type VaultUse = 'made' | 'used' | 'itself' | { aloneTo: string };

/**
 * Runs a command of an operator with these engines, beside services that run or without any.
 * @param keepsFiles whether it uses `DATA_DIR` even if none of them is embedded
 * @param vault whether the command may make a key vault where there never was one, only use its keys, or compare and change
 * the vault itself: then it has its embedded folder alone if it says what for
 */
export const withEngines = async <Name extends EngineName, Result>(
  { names, keepsFiles, vault = 'used' }: EnginesToOpen<Name>,
  work: (engines: Pick<Engines, Name>, settings: Settings) => Result | Promise<Result>,
): Promise<Result> => {
  const { settings } = loadSettings(process.env, {});
  const logger = createLogger(settings);
  const shutdown = new Shutdown(logger);
  try {
    const isAlone = typeof vault === 'object' && isEmbedded('keyVault', settings);
    if (isAlone) shutdown.add('data folder', haveFolderAlone(settings.DATA_DIR, vault.aloneTo));
    else if (keepsFiles || names.some((name) => isEmbedded(name, settings))) useDataFolder({ settings, shutdown });
    // The master key is made before the vault is.
    if (names.some((name) => name === 'keyVault')) loadMasterKey(settings);
    const engines = await openEngines(settings, logger, names);
    shutdown.add('engines', () => closeEngines(engines));
    const { eventStore, keyVault }: Partial<Engines> = engines;
    if (typeof vault === 'object') await keyVault?.use('alone');
    else if (eventStore && keyVault && vault !== 'itself') {
      await requireOwnVault(thisVault({ eventStore, keyVault }, settings), { makes: vault === 'made' });
    }
    return await work(engines, settings);
  } finally {
    await shutdown.run();
  }
};
