import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import {
  closeEngines,
  describeEngines,
  isEmbedded,
  openEngines,
  useDataFolder,
} from '../../../shared/host/engines/engines.ts';
import type { EngineName, Engines } from '../../../shared/host/engines/engines.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { haveFolderAlone } from '../../../shared/host/engines/folder-locks.sqlite.ts';
import { createLogger } from '../../../shared/host/logger.ts';
import { Shutdown } from '../../../shared/host/shutdown.ts';
import { thisVault } from '../../../shared/host/engines/this-vault.ts';
import { requireOwnVault } from '../../../shared/key-vault/own-vault.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock, type Clock } from '../../../shared/primitives/clock.ts';
import { systemIds, type Ids } from '../../../shared/primitives/ids.ts';

interface EnginesToOpen<Name extends EngineName> {
  names: readonly Name[];
  keepsFiles: boolean;
  changes?: boolean;
  vault?: VaultUse;
}

export type VaultUse = 'made' | 'used' | 'itself' | { aloneTo: string };

/**
 * Runs an operator's command with these engines, whether services are running or not.
 * @param keepsFiles whether it uses `DATA_DIR` even if no engine is embedded
 * @param changes whether it changes stored data: then it says where, on standard error
 * @param vault whether the command may make a key vault if there never was one, only use its keys, or compare and
 * change the vault itself: then it locks the embedded folder for the given reason
 * @throws CannotStart if no event was ever stored, so that a misspelt folder does not get stores
 */
export const withEngines = async <Name extends EngineName, Result>(
  { names, keepsFiles, changes = false, vault = 'used' }: EnginesToOpen<Name>,
  work: (engines: Pick<Engines, Name> & { clock: Clock; ids: Ids }, settings: Settings) => Result | Promise<Result>,
): Promise<Result> => {
  const { settings } = loadSettings(process.env, {});
  requireStores(settings);
  const logger = createLogger(settings);
  const shutdown = new Shutdown(logger);
  try {
    const isAlone = typeof vault === 'object' && isEmbedded('keyVault', settings);
    if (isAlone) shutdown.add('data folder', haveFolderAlone(settings.DATA_DIR, vault.aloneTo));
    else if (keepsFiles || names.some((name) => isEmbedded(name, settings))) useDataFolder({ settings, shutdown });
    // The master key is created before the vault.
    if (names.some((name) => name === 'keyVault')) loadMasterKey(settings);
    const engines = await openEngines(settings, logger, names);
    shutdown.add('engines', () => closeEngines(engines));
    const { eventStore, keyVault }: Partial<Engines> = engines;
    if (typeof vault === 'object') await keyVault?.use('alone');
    else if (eventStore && keyVault && vault !== 'itself') {
      await requireOwnVault(thisVault({ eventStore, keyVault }, settings), { makes: vault === 'made' });
    }
    const result = await work({ ...engines, clock: systemClock, ids: systemIds }, settings);
    if (changes) process.stderr.write(`stored in ${placesOf(names, settings)}\n`);
    return result;
  } finally {
    await shutdown.run();
  }
};

const requireStores = (settings: Settings): void => {
  const { DATA_DIR } = settings;
  if (!isEmbedded('eventStore', settings) || existsSync(join(DATA_DIR, 'events.db'))) return;
  throw new CannotStart(
    `${resolve(DATA_DIR)} has no stores: set DATA_DIR to the folder of the installation, or start it there first`,
  );
};

const placesOf = (names: readonly EngineName[], settings: Settings): string =>
  [...new Set(Object.values(describeEngines(settings, names)).map((place) => place.replace(/^embedded in /, '')))].join(
    ' and ',
  );
