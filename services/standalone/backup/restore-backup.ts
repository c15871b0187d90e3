import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { SqliteEventStore } from '../../../shared/event-store/embedded/event-store.sqlite.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { haveFolderAlone } from '../../../shared/host/engines/folder-locks.sqlite.ts';
import { restoreVault } from '../../../shared/key-vault/backup/restore-vault.ts';
import { SqliteKeyVault } from '../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { MASTER_KEY_FILE, VAULT_FILE } from '../../../shared/keys/master-key.ts';
import { systemClock, toIso } from '../../../shared/primitives/clock.ts';
import { linesOfFile } from '../../../shared/primitives/files/lines-of-file.ts';
import { makeFolder } from '../../../shared/primitives/files/make-folder.ts';
import { syncFile, syncFolder } from '../../../shared/primitives/files/write-file-whole.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { backupFolders, digestOf, EVENTS, isUnchanged, readManifest, type Backup } from './backup-manifest.ts';
import type { ShowsProgress } from './create-backup.ts';

/** The suffix of stores until all of them are complete. */
const RESTORING = '.restoring';

interface RestoreOptions {
  /** An empty folder, or none. */
  dataDir: string;
  masterKey: Uint8Array;
  /** How messages name the master key. */
  masterKeyName: string;
  /** The newest position that must be there; `undefined` takes the newest backup. */
  reaches: Position | undefined;
  progress: ShowsProgress;
}

export interface RestoredBackup extends Backup {
  keys: number;
}

/**
 * Restores the event store and the key vault of a backup into an empty folder. Both get their names once they are
 * complete and known to fit each other and the master key; until then the same command may be repeated.
 * @throws CannotStart
 */
export const restoreBackup = async (
  folder: string,
  { dataDir, masterKey, masterKeyName, reaches, progress }: RestoreOptions,
): Promise<RestoredBackup> => {
  const backup = chosen(folder, reaches);
  makeFolder(dataDir, 0o700);
  const release = haveFolderAlone(dataDir, 'a backup is restored there');
  try {
    makeEmpty(dataDir);
    const [events, vault] = [join(dataDir, EVENTS), join(dataDir, VAULT_FILE)];
    await copyFile(join(backup.folder, EVENTS), events + RESTORING);
    const copied = await digestOf(events + RESTORING, (bytes) => {
      progress('bytes', bytes, backup.events.bytes);
    });
    if (copied.sha256 !== backup.events.sha256) throw changed(backup.folder, EVENTS);
    if (!(await isUnchanged(backup.folder, backup.vault))) throw changed(backup.folder, backup.vault.name);
    const keys = await restoreKeys(backup, { events, vault, masterKey, masterKeyName, progress });
    // A start beside the vault alone is refused, so that the event store comes last.
    for (const file of [vault, events]) {
      syncFile(file + RESTORING);
      renameSync(file + RESTORING, file);
      syncFolder(dataDir);
    }
    return { ...backup, keys };
  } finally {
    release();
  }
};

/** @returns how many keys there are */
const restoreKeys = async (
  backup: Backup,
  { events, vault, masterKey, masterKeyName, progress }: Stores,
): Promise<number> => {
  const eventStore = new SqliteEventStore(events + RESTORING);
  const keyVault = new SqliteKeyVault(vault + RESTORING);
  try {
    const names = { vault, masterKey: masterKeyName };
    const own = { eventStore, keyVault, masterKey, clock: systemClock, ids: systemIds, names };
    const { added } = await restoreVault(own, () => linesOfFile(join(backup.folder, backup.vault.name)), {
      replaces: false,
      at: toIso(systemClock.now()),
      progress: (keys) => {
        progress('keys', keys, 0);
      },
    });
    return added;
  } finally {
    await Promise.all([eventStore.close(), keyVault.close()]);
  }
};

interface Stores extends Pick<RestoreOptions, 'masterKey' | 'masterKeyName' | 'progress'> {
  /** The files that are restored, by their later names. */
  events: string;
  vault: string;
}

/** @throws CannotStart if no backup reaches the position */
const chosen = (folder: string, reaches: Position | undefined): Backup => {
  const folders = existsSync(folder) ? backupFolders(folder) : [];
  const newest = folders.at(-1);
  if (newest === undefined) throw new CannotStart(`${folder} has no backup`);
  if (reaches === undefined) return readManifest(newest);
  const found = folders.map(readManifest).find(({ position }) => position >= reaches);
  if (found) return found;
  const { position } = readManifest(newest);
  throw new CannotStart(
    `no backup in ${folder} reaches position ${String(reaches)}: the newest ends at ${String(position)}`,
  );
};

const changed = (folder: string, name: string): CannotStart =>
  new CannotStart(
    `${join(folder, name)} is not as it was written: nothing was restored; --to <position> takes an older backup that reaches that position`,
  );

/**
 * Removes what an interrupted restore has left.
 * @throws CannotStart if there is anything else than the master key
 */
const makeEmpty = (dataDir: string): void => {
  const names = readdirSync(dataDir);
  const isInterrupted = names.includes(EVENTS + RESTORING);
  const isLeft = (name: string) =>
    name.includes(RESTORING) || (isInterrupted && name === VAULT_FILE && !names.includes(EVENTS));
  const others = names.filter((name) => !isLeft(name) && name !== MASTER_KEY_FILE && !LOCK.test(name));
  if (others.length > 0) {
    throw new CannotStart(
      `${dataDir} is not empty (${others.slice(0, 3).join(', ')}): set DATA_DIR to a new folder, or move its files away`,
    );
  }
  for (const name of names.filter(isLeft)) rmSync(join(dataDir, name));
};

const LOCK = /^(processes|start)[.]lock/;
