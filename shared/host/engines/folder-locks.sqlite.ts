import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CannotStart } from '../../errors/cannot-start.ts';
import { nodeErrorCode } from '../../errors/node-error-code.ts';
import { isBusy } from '../../primitives/sqlite/sqlite-errors.ts';

/** Longer than removing the files of the folder takes. */
const WAIT_TO_SHARE_MS = 2_000;

/**
 * Only one `npm start` at a time may use a data folder. The operating system frees this lock and the others when the
 * process ends, so there is nothing to clean up after a crash.
 * @returns a function that frees the lock
 * @throws CannotStart
 */
export const lockForStart = (folder: string): (() => void) =>
  lock(join(folder, 'start.lock'), {
    begin: 'BEGIN EXCLUSIVE',
    inUse: `${folder} is in use by another start: stop that one, or set DATA_DIR to another folder`,
  });

/**
 * Each process that uses a data folder holds this lock, so that no other process empties the folder.
 * @throws CannotStart
 */
export const shareFolder = (folder: string): (() => void) =>
  lock(join(folder, 'processes.lock'), {
    // SQLite takes the shared lock with the first read.
    begin: `PRAGMA busy_timeout = ${String(WAIT_TO_SHARE_MS)}; BEGIN; SELECT count(*) FROM sqlite_schema`,
    inUse: `${folder} is used alone by another start or command: start again when that has ended`,
  });

/**
 * Takes the folder exclusively, for emptying it or encrypting all its keys again.
 * @param why as in "before --fresh …"
 * @throws CannotStart
 */
export const haveFolderAlone = (folder: string, why: string): (() => void) =>
  lock(join(folder, 'processes.lock'), {
    begin: 'BEGIN EXCLUSIVE',
    inUse: `${folder} is in use by other processes: stop them before ${why}, or set DATA_DIR to another folder`,
  });

/**
 * Takes a file for this process alone.
 * @param what names in a message what nobody else may use meanwhile
 * @throws CannotStart
 */
export const haveFileAlone = (file: string, what: string): (() => void) =>
  lock(file, { begin: 'BEGIN EXCLUSIVE', inUse: `${what} is in use by another process: stop that one first` });

const lock = (file: string, { begin, inUse }: { begin: string; inUse: string }): (() => void) => {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec(begin);
  } catch (cause) {
    database?.close();
    if (isBusy(cause)) throw new CannotStart(inUse, { cause });
    if (nodeErrorCode(cause) !== 'ERR_SQLITE_ERROR') throw cause;
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new CannotStart(`${file} cannot be used as a lock file (${what}): remove it, or make its folder`, { cause });
  }
  return () => {
    database.close();
  };
};
