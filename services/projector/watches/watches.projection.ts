import type { WatchEvent } from '../../../schemas/events/watch-events.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { WatchDocument } from '../../../schemas/read-models/watches.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.watches;

/** Registered contract events, by watch id. */
export const watchesProjection: Projection = {
  name,
  eventTypes: ['ContractRegistered', 'WatchExtended'],
  touches: (event) => [{ collection, id: event.data['watchId'] as string }],
  evolve: (stored, before) => {
    const event = stored as StoredEvent & WatchEvent;
    const id = event.data.watchId;
    const document = evolveWatch(before({ collection, id }) as WatchDocument | undefined, event);
    return document ? [{ collection, id, document }] : [];
  },
};

const evolveWatch = (
  watch: WatchDocument | undefined,
  { type, data, time, position }: StoredEvent & WatchEvent,
): WatchDocument | undefined => {
  switch (type) {
    case 'ContractRegistered': {
      const { watchId: id, appId, ...registered } = data;
      if (watch) return { ...watch, apps: [...new Set([...watch.apps, appId])] };
      return { id, ...registered, apps: [appId], createdAt: toIso(time), createdPosition: position };
    }
    case 'WatchExtended':
      return watch && { ...watch, startBlock: data.startBlock };
  }
};
