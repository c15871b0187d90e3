import { z } from 'zod';
import { appEvents } from '../../schemas/events/app-events.ts';
import { isoTime } from '../../schemas/values.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

const appDocument = z.object({
  id: z.string(),
  name: z.string(),
  origins: z.array(z.string()),
  /** Since when nobody calls on its behalf; `null` while it is live. */
  revokedAt: isoTime.nullable(),
});
export type AppDocument = z.infer<typeof appDocument>;

const { AppRegistered, AppOriginAllowed, AppRevoked } = appEvents;

/** Apps, by app id: browsers are served from the origins of those that are live. */
export const appsModel = readModel({
  name: 'apps-v2',
  collections: { app: { name: 'apps-v2', document: appDocument, indexes: [] } },
  events: { AppRegistered, AppOriginAllowed, AppRevoked },
  touches: ({ data }) => ({ app: data.appId }),
  evolve: ({ app }, { type, data, time }) => {
    switch (type) {
      case 'AppRegistered': {
        const { appId: id, name, origins } = data;
        return { app: { id, name, origins, revokedAt: null } };
      }
      case 'AppOriginAllowed':
        return { app: app && { ...app, origins: [...app.origins, data.origin] } };
      case 'AppRevoked':
        return { app: app && { ...app, revokedAt: toIso(time) } };
    }
  },
});
