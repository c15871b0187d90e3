import { nodeErrorCode } from '../../errors/node-error-code.ts';

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** Whether another process has the database locked. */
export const isBusy = (error: unknown): boolean => codeOf(error) === SQLITE_BUSY;

/**
 * Whether SQLite found the file damaged, or Node found an integer in it that is too large to have been written by us.
 */
export const isCorrupt = (error: unknown): boolean =>
  [SQLITE_CORRUPT, SQLITE_NOTADB].includes(codeOf(error) ?? 0) || nodeErrorCode(error) === 'ERR_OUT_OF_RANGE';

const codeOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;

export const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
