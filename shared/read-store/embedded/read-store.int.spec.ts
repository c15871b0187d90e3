import { join } from 'node:path';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { formerCollectionsContract } from '../former-collections/former-collections.contract.ts';
import { coordinationContract } from '../../coordination/coordination.contract.ts';
import { correctionsContract } from '../corrections.contract.ts';
import { versionsContract } from '../versions/versions.contract.ts';
import { readStoreContract } from '../read-store.contract.ts';
import { SqliteReadStore } from './read-store.sqlite.ts';
import { searchContract } from '../search.contract.ts';

const folder = temporaryFolder();
for (const contract of [
  readStoreContract,
  searchContract,
  correctionsContract,
  versionsContract,
  formerCollectionsContract,
  coordinationContract,
]) {
  contract('SQLite', () => Promise.resolve(new SqliteReadStore(join(folder, 'read.db'))));
}
