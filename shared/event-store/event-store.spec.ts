import { eventStoreContract } from './event-store.contract.ts';
import { MemoryEventStore } from '../testing/engines/event-store.memory.ts';

eventStoreContract('memory', () => Promise.resolve(new MemoryEventStore()));
