import { readStoreContract } from './read-store.contract.ts';
import { MemoryReadStore } from './read-store.memory.ts';
import { searchContract } from './search.contract.ts';

for (const contract of [readStoreContract, searchContract]) {
  contract('memory', () => Promise.resolve(new MemoryReadStore()));
}
