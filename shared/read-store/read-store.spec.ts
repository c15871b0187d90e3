import { readStoreContract } from './read-store.contract.ts';
import { MemoryReadStore } from './read-store.memory.ts';

readStoreContract('memory', () => Promise.resolve(new MemoryReadStore()));
