import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteEventStore } from '../../event-store/embedded/event-store.sqlite.ts';

/**
 * Makes a data folder with an event store, as a first start leaves it: an operator's commands refuse a folder without.
 */
export const folderWithStores = async (folder: string): Promise<string> => {
  mkdirSync(folder, { recursive: true });
  await new SqliteEventStore(join(folder, 'events.db')).close();
  return folder;
};
