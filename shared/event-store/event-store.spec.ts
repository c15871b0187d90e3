import { eventStoreContract } from './event-store.contract.ts';
import { MemoryEventStore } from '../testing/engines/event-store.memory.ts';
import { TestClock } from '../testing/test-foundation.ts';

const clock = new TestClock();
eventStoreContract('memory', () => Promise.resolve(new MemoryEventStore(clock)), {
  seconds: 3_600,
  pass: () => {
    clock.time += 3_600_001;
  },
});
