import { formerCollectionsContract } from './former-collections/former-collections.contract.ts';
import { correctionsContract } from './corrections.contract.ts';
import { coordinationContract } from '../coordination/coordination.contract.ts';
import { versionsContract } from './versions/versions.contract.ts';
import { readStoreContract } from './read-store.contract.ts';
import { MemoryReadStore } from '../testing/engines/read-store.memory.ts';
import { searchContract } from './search.contract.ts';

for (const contract of [
  readStoreContract,
  searchContract,
  correctionsContract,
  versionsContract,
  formerCollectionsContract,
  coordinationContract,
]) {
  contract('memory', () => Promise.resolve(new MemoryReadStore()));
}
