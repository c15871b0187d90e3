import { join } from 'node:path';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { readStoreContract } from './read-store.contract.ts';
import { SqliteReadStore } from './read-store.sqlite.ts';

const folder = temporaryFolder();
readStoreContract('SQLite', () => Promise.resolve(new SqliteReadStore(join(folder, 'read.db'))));
