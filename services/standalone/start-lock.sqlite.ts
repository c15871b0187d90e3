import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CannotStart } from '../../shared/errors/cannot-start.ts';

const SQLITE_BUSY = 5;
const LOCK_FILE = 'start.lock';

/**
 * Locks a data folder, which only one `npm start` at a time may use. The operating system frees the lock when the process
 * ends, so there is nothing to clean up after a crash.
 * @returns a function that frees the lock
 * @throws CannotStart
 */
export const lockFolder = (folder: string): (() => void) => {
  const file = join(folder, LOCK_FILE);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(file);
    lock.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE');
  } catch (cause) {
    lock?.close();
    if (!(cause instanceof Error && 'errcode' in cause)) throw cause;
    throw new CannotStart(
      cause.errcode === SQLITE_BUSY
        ? `${folder} is in use by another start: stop that one, or set DATA_DIR to another folder`
        : `${file} is not a valid lock file (${cause.message}): remove it`,
      { cause },
    );
  }
  return () => {
    lock.close();
  };
};
