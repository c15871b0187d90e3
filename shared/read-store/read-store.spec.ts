import { formerCollectionsContract } from './former-collections/former-collections.contract.ts';
import { readStoreContract } from './read-store.contract.ts';
import { MemoryReadStore } from './read-store.memory.ts';
import { searchContract } from './search.contract.ts';

for (const contract of [readStoreContract, searchContract, formerCollectionsContract]) {
  contract('memory', () => Promise.resolve(new MemoryReadStore()));
}
