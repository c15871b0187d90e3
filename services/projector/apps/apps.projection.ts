import type { AppEvent } from '../../../schemas/events/app-events.ts';
import type { AppDocument } from '../../../schemas/read-models/apps.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { Projection } from '../run-projection/projection.ts';

const { projection: name, collection } = readModels.apps;

/** Apps, by id: which origins browsers may come from. */
export const appsProjection: Projection = {
  name,
  eventTypes: ['AppRegistered'],
  touches: (event) => [{ collection, id: event.data['appId'] as string }],
  evolve: (stored) => {
    const { appId, name: appName, origins } = (stored as StoredEvent & AppEvent).data;
    const document: AppDocument = { id: appId, name: appName, origins };
    return [{ collection, id: appId, document }];
  },
};
