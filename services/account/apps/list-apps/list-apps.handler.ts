import { appEvents, appStream } from '../../../../schemas/events/account/app-events.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../../shared/event-store/read-every.ts';
import { foldEvents } from '../../../../shared/event-store/transactions/folded-streams.ts';
import { appsModel } from '../../../../shared/read-models/account/apps.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { appFold, type App } from '../../../../shared/auth/app.ts';

const READ_AT_ONCE = 1_000;

export interface StoresOfApps {
  eventStore: Pick<EventStore, 'read' | 'readAll'>;
  readStore: Pick<ReadStore, 'find' | 'position'>;
}

/**
 * Lists every app, in the order of registration: from the read model, and from newer events in the event store. So it
 * works without a running projector, and need not read all events beside one.
 */
export const listApps = async ({ eventStore, readStore }: StoresOfApps): Promise<App[]> => {
  const after = await readStore.position(appsModel.name);
  const ids = new Set([...(await idsInReadModel(readStore)), ...(await idsAfter(eventStore, after))]);
  const found: { app: App; position: number }[] = [];
  for (const id of ids) {
    const events = await eventStore.read(appStream(id));
    const app = foldEvents(appFold, appFold.initial, events);
    if (app) found.push({ app, position: events[0]?.position ?? 0 });
  }
  return found.toSorted((left, right) => left.position - right.position).map(({ app }) => app);
};

const idsInReadModel = async (readStore: StoresOfApps['readStore']): Promise<string[]> => {
  const ids: string[] = [];
  for (let page = ['']; page.length > 0;) {
    const filter = { id: { gt: page.at(-1) ?? '' } };
    const documents = await readStore.find(appsModel.collections.app.name, {
      filter,
      sort: [['id', 'asc']],
      limit: READ_AT_ONCE,
    });
    page = documents.map(({ id }) => id);
    ids.push(...page);
  }
  return ids;
};

const idsAfter = async (eventStore: StoresOfApps['eventStore'], after: number): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { data } of readEvery(eventStore, { after, filter: { types: ['AppRegistered'] } })) {
    ids.push(appEvents.AppRegistered.data.parse(data).appId);
  }
  return ids;
};
