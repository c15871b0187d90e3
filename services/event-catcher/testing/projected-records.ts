import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { projectInto } from '../../../shared/testing/project.ts';
import { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';

/** How often it is not brought up to what is stored. */
const LAGS = 1 / 4;

/** A read store with the records of chains, brought up to what is stored now and then, when somebody asks how far it is. */
export const projectedRecords = (
  eventStore: Pick<EventStore, 'readAll'>,
  { random = new SeededRandom(7), isAway = () => false }: { random?: SeededRandom; isAway?: () => boolean } = {},
): MemoryReadStore => {
  const readStore = new MemoryReadStore();
  const position = readStore.position.bind(readStore);
  let projecting = Promise.resolve();
  readStore.position = async (projection) => {
    if (isAway()) throw new Error('the read store is away');
    if (random.chance(LAGS)) return position(projection);
    projecting = projecting.then(async () => {
      const { events } = await eventStore.readAll(await position(chainEventsModel.name), undefined, Infinity);
      if (events.length > 0) await projectInto(readStore, [chainEventsModel], events);
    });
    await projecting;
    return position(projection);
  };
  return readStore;
};
