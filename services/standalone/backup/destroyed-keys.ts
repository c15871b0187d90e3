import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import type { EventStore, Position } from '../../../shared/event-store/event-store.ts';
import { withoutKeys } from '../../../shared/key-vault/backup/vault-backup.ts';
import { destroyedKeys } from '../../../shared/key-vault/vault-evidence.ts';
import { linesOfFile } from '../../../shared/primitives/files/lines-of-file.ts';
import { createFileOf } from '../../../shared/primitives/files/write-file-whole.ts';
import { digestOf, isUnchanged, MANIFEST, readManifest, vaultName, writeManifest } from './backup-manifest.ts';

/**
 * Removes keys from backups that were destroyed since each was made, so that none of them brings a key back.
 * @param folders of the backups
 * @param at the time that is recorded, ISO 8601; `upTo`: the position up to which events are read
 * @throws CannotStart, after all others, if one of the backups is damaged
 */
export const removeDestroyedKeys = async (
  eventStore: Pick<EventStore, 'readAll'>,
  folders: readonly string[],
  recorded: { at: string; upTo: Position },
): Promise<void> => {
  const damaged: string[] = [];
  for (const folder of folders) {
    if (!(await removeFrom(eventStore, folder, recorded))) damaged.push(folder);
  }
  if (damaged.length === 0) return;
  throw new CannotStart(
    `the new backup is complete. ${damaged.join(', ')} cannot be read, so keys that were destroyed since may still be there: remove what "annals backup verify" names`,
  );
};

/** @returns `false` if the backup is damaged; then it stays as it is */
const removeFrom = async (
  eventStore: Pick<EventStore, 'readAll'>,
  folder: string,
  { at, upTo }: { at: string; upTo: Position },
): Promise<boolean> => {
  try {
    const { folder: _, ...manifest } = readManifest(folder);
    removeOthers(folder, [MANIFEST, manifest.events.name, manifest.vault.name]);
    if (upTo <= manifest.destroyedUpTo) return true;
    const destroyed = await destroyedKeys(eventStore, manifest.destroyedUpTo);
    if (destroyed.size === 0) {
      writeManifest(folder, { ...manifest, destroyedUpTo: upTo });
      return true;
    }
    const path = join(folder, manifest.vault.name);
    if (!(await isUnchanged(folder, manifest.vault))) return false;
    const next = vaultName(1 + Number(/\d+/.exec(manifest.vault.name)));
    await createFileOf(join(folder, next), withoutKeys(linesOfFile(path), destroyed, at), 0o600);
    const vault = await digestOf(join(folder, next));
    // The manifest names the new file before the old one is removed: a crash leaves a file that the next backup removes.
    writeManifest(folder, { ...manifest, destroyedUpTo: upTo, vault });
    rmSync(path);
    return true;
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    return false;
  }
};

const removeOthers = (folder: string, names: readonly string[]): void => {
  for (const name of readdirSync(folder)) if (!names.includes(name)) rmSync(join(folder, name), { recursive: true });
};
