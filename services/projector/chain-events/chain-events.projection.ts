import type { ChainEvent, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import {
  chainEventCountId,
  chainEventDocumentId,
  type ChainEventCountDocument,
  type ChainEventDocument,
} from '../../../schemas/read-models/chain-events.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.chainEvents;
const counts = readModels.chainEventCounts.collection;

/** Caught contract events, in chain order per contract, and how many there are; a reverted one stays and says so. */
export const chainEventsProjection: Projection = {
  name,
  // Nothing is made of the last one: that what it calls final has come this far is told at once.
  eventTypes: ['ChainEventObserved', 'ChainEventReverted', 'ChainAdvanced'],
  // Records before their count: what it counts they know.
  touches: (stored) => {
    if (stored.type === 'ChainAdvanced') return [];
    const { data } = stored as StoredEvent & ChainEvent;
    return [
      { collection, id: chainEventDocumentId(data) },
      { collection: counts, id: chainEventCountId(data) },
    ];
  },
  evolve: (stored, before) => {
    if (stored.type === 'ChainAdvanced') return [];
    const { type, data, position } = stored as StoredEvent & ChainEvent;
    const id = chainEventDocumentId(data);
    const known = before({ collection, id }) as ChainEventDocument | undefined;
    const reverted = type === 'ChainEventReverted';
    const place = known?.changes.indexOf(position) ?? -1;
    if (place === -1 && !isChange(known, reverted, position)) return [];
    const countId = chainEventCountId(data);
    const count = before({ collection: counts, id: countId }) as ChainEventCountDocument | undefined;
    return [
      { collection, id, document: evolveRecord(known, data, reverted, position) },
      { collection: counts, id: countId, document: evolveCount(count, reverted, known === undefined || place === 0) },
    ];
  },
};

/** A record that is told what it already is does not change, then or when the event comes again. */
const isChange = (known: ChainEventDocument | undefined, reverted: boolean, position: number): boolean =>
  known ? known.reverted !== reverted && position > (known.changes.at(-1) ?? 0) : !reverted;

const evolveRecord = (
  known: ChainEventDocument | undefined,
  data: ObservedRecord,
  reverted: boolean,
  position: number,
): ChainEventDocument => ({
  ...data,
  changes: [...(known?.changes ?? []), position],
  observedPosition: reverted ? (known?.observedPosition ?? position) : position,
  reverted,
});

const evolveCount = (
  { standing, reverted }: ChainEventCountDocument = { standing: 0, reverted: 0 },
  isReversal: boolean,
  isFirst: boolean,
): ChainEventCountDocument => {
  if (isReversal) return { standing: standing - 1, reverted: reverted + 1 };
  return { standing: standing + 1, reverted: isFirst ? reverted : reverted - 1 };
};
