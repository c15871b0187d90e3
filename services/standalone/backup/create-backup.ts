import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { SqliteEventStore } from '../../../shared/event-store/embedded/event-store.sqlite.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import { haveFileAlone } from '../../../shared/host/engines/folder-locks.sqlite.ts';
import { backupVault } from '../../../shared/key-vault/backup/vault-backup.ts';
import type { KeyVault } from '../../../shared/key-vault/key-vault.ts';
import { toIso, type Clock } from '../../../shared/primitives/clock.ts';
import { makeFolder } from '../../../shared/primitives/files/make-folder.ts';
import { createFileOf, syncFile, syncFolder } from '../../../shared/primitives/files/write-file-whole.ts';
import {
  backupFolders,
  digestOf,
  EVENTS,
  nameOf,
  readManifest,
  vaultName,
  writeManifest,
  type Backup,
} from './backup-manifest.ts';
import { copyDatabase } from './copy-database.sqlite.ts';
import { removeDestroyedKeys } from './destroyed-keys.ts';

const INCOMPLETE = '.incomplete-';

interface BackupSource {
  /** The file of `eventStore`. */
  eventsFile: string;
  eventStore: Pick<EventStore, 'readAll'>;
  keyVault: KeyVault;
  clock: Pick<Clock, 'now'>;
}

export type ShowsProgress = (what: string, done: number, of: number) => void;

/**
 * Writes a backup of the event store and the key vault into a new folder in `folder`, while other processes write to
 * both, and removes keys that were destroyed since from the older backups there. The new folder gets its name once it is
 * complete. The keys are read after the events, so that every key of an event is in the backup. Read models and topics
 * are made of the events again after a restore: read models have personal data in the clear, which a later erasure could
 * not remove from a backup.
 * @throws CannotStart if another process writes a backup there, if the event store is damaged, and, once the backup is
 * complete, if an older one is damaged
 */
export const createBackup = async (
  { eventsFile, eventStore, keyVault, clock }: BackupSource,
  folder: string,
  progress: ShowsProgress,
): Promise<Backup> => {
  makeFolder(folder, 0o700);
  const release = haveFileAlone(join(folder, 'backup.lock'), folder);
  try {
    removeIncomplete(folder);
    const older = backupFolders(folder);
    const work = join(folder, `${INCOMPLETE}${randomUUID()}`);
    mkdirSync(work, { mode: 0o700 });
    const at = toIso(clock.now());
    const copy = join(work, EVENTS);
    await copyDatabase(eventsFile, copy, (pages, of) => {
      progress('pages', pages, of);
    });
    const position = await requireReadable(copy, eventsFile, progress);
    syncFile(copy);
    await createFileOf(join(work, vaultName(0)), backupVault(keyVault, at), 0o600);
    const vaultId = (await keyVault.identity())?.vaultId ?? null;
    const [events, vault] = [await digestOf(copy), await digestOf(join(work, vaultName(0)))];
    const manifest = { annalsBackup: 1, at, position, destroyedUpTo: position, vaultId, events, vault } as const;
    writeManifest(work, manifest);
    const named = join(folder, nameOf(manifest));
    renameSync(work, named);
    syncFolder(folder);
    await removeDestroyedKeys(eventStore, older, { at, upTo: position });
    return readManifest(named);
  } finally {
    release();
  }
};

/** Removes what a backup that was interrupted has left. Nobody else writes backups there now. */
const removeIncomplete = (folder: string): void => {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(INCOMPLETE)) rmSync(join(folder, name), { recursive: true });
  }
};

/** Reads each event of a copy, whose row has a checksum. @returns the position of the newest event */
const requireReadable = async (copy: string, eventsFile: string, progress: ShowsProgress): Promise<number> => {
  const eventStore = new SqliteEventStore(copy);
  try {
    const head = await eventStore.head();
    for await (const { position } of readEvery(eventStore)) progress('events', position, head);
    return head;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new CannotStart(`${eventsFile} cannot be copied, because not all of its events can be read: ${message}`, {
      cause,
    });
  } finally {
    await eventStore.close();
  }
};
