import { z } from 'zod';
import { appEvents } from '../../schemas/events/app-events.ts';
import { readModel } from './read-model.ts';

const appDocument = z.object({ id: z.string(), name: z.string(), origins: z.array(z.string()) });
export type AppDocument = z.infer<typeof appDocument>;

/** Apps, by app id: browsers are served from these origins. */
export const appsModel = readModel({
  name: 'apps-v1',
  collections: { app: { name: 'apps', document: appDocument, indexes: [] } },
  events: appEvents,
  touches: ({ data }) => ({ app: data.appId }),
  evolve: (_, { data: { appId: id, name, origins } }) => ({ app: { id, name, origins } }),
});
