import { join } from 'node:path';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { formerCollectionsContract } from './former-collections/former-collections.contract.ts';
import { readStoreContract } from './read-store.contract.ts';
import { SqliteReadStore } from './read-store.sqlite.ts';
import { searchContract } from './search.contract.ts';

const folder = temporaryFolder();
for (const contract of [readStoreContract, searchContract, formerCollectionsContract]) {
  contract('SQLite', () => Promise.resolve(new SqliteReadStore(join(folder, 'read.db'))));
}
