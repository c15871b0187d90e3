import type { ChainEvent } from '../../../schemas/events/chain-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { chainEventDocumentId, type ChainEventDocument } from '../../../schemas/read-models/chain-events.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.chainEvents;

/** Caught contract events, in chain order per contract; a reverted one stays and says so. */
export const chainEventsProjection: Projection = {
  name,
  eventTypes: ['ChainEventObserved', 'ChainEventReverted'],
  touches: (stored) => [{ collection, id: chainEventDocumentId((stored as StoredEvent & ChainEvent).data) }],
  evolve: (stored, before) => {
    const { type, data, position } = stored as StoredEvent & ChainEvent;
    const id = chainEventDocumentId(data);
    const known = before({ collection, id }) as ChainEventDocument | undefined;
    const reverted = type === 'ChainEventReverted';
    if (known ? known.reverted === reverted : reverted) return [];
    const document: ChainEventDocument = {
      ...data,
      changes: [...(known?.changes ?? []), position],
      observedPosition: reverted ? (known?.observedPosition ?? position) : position,
      reverted,
    };
    return [{ collection, id, document }];
  },
};
