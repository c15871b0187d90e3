import { resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { vaultDatabase } from '../../key-vault/key-vault.ts';
import type { OwnVault } from '../../key-vault/own-vault.ts';
import { loadMasterKey, nameMasterKey, VAULT_FILE } from '../../keys/master-key.ts';
import { systemClock } from '../../primitives/clock.ts';
import { systemIds } from '../../primitives/ids.ts';
import type { Engines } from './engines.ts';

/** Returns the key vault of these settings, with the event store to which it belongs. @throws CannotStart */
export const thisVault = ({ eventStore, keyVault }: VaultStores, settings: Settings): OwnVault => ({
  eventStore,
  keyVault,
  masterKey: loadMasterKey(settings),
  clock: systemClock,
  ids: systemIds,
  names: { vault: nameVault(settings), masterKey: nameMasterKey(settings) },
});

type VaultStores = Pick<Engines, 'eventStore' | 'keyVault'>;

const nameVault = ({ MONGO_URL, MONGO_DATABASE, DATA_DIR }: Settings): string =>
  MONGO_URL === undefined ? resolve(DATA_DIR, VAULT_FILE) : `the database ${vaultDatabase(MONGO_DATABASE)}`;
