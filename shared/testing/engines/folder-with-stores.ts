import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteEventStore } from '../event-store/event-store.sqlite.ts';

/** Makes a data folder with an event store, as a first start leaves it: commands of an operator refuse one without. */
export const folderWithStores = async (folder: string): Promise<string> => {
  mkdirSync(folder, { recursive: true });
  await new SqliteEventStore(join(folder, 'events.db')).close();
  return folder;
};
