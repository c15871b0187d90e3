import { appEvents } from '../../../schemas/events/app-events.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { appFold, type App } from '../domain/app.ts';

const EVENTS_PER_READ = 1_000;

/** Every app, in the order of registration. It reads the event store, so that it works without a running projector. */
export const listApps = async (eventStore: EventStore): Promise<App[]> => {
  const apps: App[] = [];
  for (let after = 0; ;) {
    const batch = await eventStore.readAll(after, { types: ['AppRegistered'] }, EVENTS_PER_READ);
    for (const { data } of batch.events) {
      const event = { type: 'AppRegistered', data: appEvents.AppRegistered.data.parse(data) } as const;
      const app = appFold.evolve(appFold.initial, event);
      if (app) apps.push(app);
    }
    if (batch.caughtUp) return apps;
    after = batch.position;
  }
};
