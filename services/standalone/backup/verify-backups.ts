import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { backupFolders, filesOf, isUnchanged, MANIFEST, readManifest } from './backup-manifest.ts';

export interface VerifiedBackup {
  folder: string;
  /** `undefined` if the manifest is damaged. */
  at: string | undefined;
  position: number | undefined;
  /** One sentence for each file that is not as it was written; empty if the backup is whole. */
  damage: string[];
}

/**
 * Compares each file of each backup with the digest in the manifest of its backup.
 * @param folder of one backup, or of several
 * @param progress called with a file and the number of its bytes that were read, and of all
 * @throws CannotStart if there is no backup
 */
export const verifyBackups = async (
  folder: string,
  progress: (what: string, done: number, of: number) => void,
): Promise<VerifiedBackup[]> => {
  const folders = existsSync(folder) ? backupFolders(folder) : [];
  if (folders.length === 0) throw new CannotStart(`${folder} has no backup`);
  const verified: VerifiedBackup[] = [];
  for (const one of folders) verified.push(await verifyBackup(one, progress));
  return verified;
};

const verifyBackup = async (
  folder: string,
  progress: (what: string, done: number, of: number) => void,
): Promise<VerifiedBackup> => {
  try {
    const manifest = readManifest(folder);
    const damage: string[] = [];
    for (const file of filesOf(manifest)) {
      const path = join(folder, file.name);
      if (!existsSync(path)) damage.push(`${path} is missing`);
      else if (
        !(await isUnchanged(folder, file, (bytes) => {
          progress(`bytes of ${path}`, bytes, file.bytes);
        }))
      )
        damage.push(`${path} is not as it was written`);
    }
    const known = [MANIFEST, ...filesOf(manifest).map(({ name }) => name)];
    for (const name of readdirSync(folder)) {
      if (!known.includes(name)) damage.push(`${join(folder, name)} is no file of the backup`);
    }
    return { folder, at: manifest.at, position: manifest.position, damage };
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    return { folder, at: undefined, position: undefined, damage: [error.message] };
  }
};
