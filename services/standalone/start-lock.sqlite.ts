import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Another program holds the folder. */
export class FolderInUse extends Error {
  override readonly name = 'FolderInUse';
}

const SQLITE_BUSY = 5;
export const LOCK_FILE = 'start.lock';

/**
 * Lets one `npm start` at a time use a data folder. The operating system frees the lock when the process ends, however
 * it ends, so there is nothing to clean up after a crash.
 * @returns frees the lock
 * @throws FolderInUse
 */
export const lockFolder = (folder: string): (() => void) => {
  const lock = new DatabaseSync(join(folder, LOCK_FILE));
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) {
      throw new FolderInUse(`${folder} is in use by another start: stop that one, or set DATA_DIR to another folder`, {
        cause: error,
      });
    }
    throw error;
  }
  return () => {
    lock.close();
  };
};
