import { DatabaseSync } from 'node:sqlite';

/** Makes each a single file, as small as it can be. */
export const compactDatabases = (files: readonly string[]): void => {
  for (const file of files) {
    const database = new DatabaseSync(file);
    database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
  }
};
