import { randomUUID } from 'node:crypto';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import type { EventToAppend } from '../../../../shared/event-store/event-store.ts';

const EVENTS_PER_BLOCK = 10;

/** Returns the `index`th event of a contract, as the event catcher stores it. */
export const someObservation = (contract: string, index: number, watchId?: string): EventToAppend => ({
  id: randomUUID(),
  type: 'ChainEventObserved',
  schemaVersion: 1,
  time: Date.now(),
  data: {
    ...(eventExamples.ChainEventObserved as JsonObject),
    ...(watchId !== undefined && { WatchId: watchId }),
    ContractAddress: contract,
    BlockNumber: Math.floor(index / EVENTS_PER_BLOCK),
    LogIndex: index % EVENTS_PER_BLOCK,
    Id: `${contract}:${String(index)}`,
  },
  metadata: { correlationId: 'bench', actor: { type: 'system', id: 'bench' } },
});
