import { backup, DatabaseSync } from 'node:sqlite';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { messageOf } from '../../../shared/primitives/sqlite/sqlite-errors.ts';

const PAGES_AT_ONCE = 1_000;

/**
 * Copies a SQLite file while other processes write to it, with SQLite's own backup. All pages are those of one commit:
 * the source has a read transaction open meanwhile, or SQLite would start over after each commit.
 * @param progress called with the number of copied pages and of all pages
 * @throws CannotStart, for example if the disk is full
 */
export const copyDatabase = async (
  from: string,
  to: string,
  progress: (pages: number, of: number) => void,
): Promise<void> => {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(from, { readOnly: true });
    source.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    await backup(source, to, {
      rate: PAGES_AT_ONCE,
      progress: ({ totalPages, remainingPages }) => {
        progress(totalPages - remainingPages, totalPages);
      },
    });
  } catch (cause) {
    throw new CannotStart(`${from} cannot be copied to ${to}: ${messageOf(cause)}`, { cause });
  } finally {
    source?.close();
  }
};
