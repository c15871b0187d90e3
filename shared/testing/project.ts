import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../schemas/json.ts';
import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import { isPermanent, placeOf } from '../event-store/permanent-streams.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { StoredLog } from '../transparency-log/stored-log.ts';
import { TreeEdge } from '../transparency-log/tiles.ts';
import { readModels } from '../read-models/catalogue.ts';
import type { ReadModel } from '../read-models/read-model.ts';
import { MemoryReadStore } from './engines/read-store.memory.ts';
import type { TestFoundation } from './test-foundation.ts';
import type { ReadStore } from '../read-store/read-store.ts';

type Store = Pick<ReadStore, 'getMany' | 'find' | 'apply'>;

/** Folds events one by one into a read model, and returns its documents, as queries read them, by role and id. */
export const project = async (
  model: ReadModel,
  events: readonly StoredEvent[],
): Promise<Record<string, Record<string, JsonObject>>> => {
  const readStore = new MemoryReadStore();
  await readStore.define(Object.values(model.collections));
  await projectInto(readStore, [model], events);
  const byRole = Object.entries(model.collections).map(async ([role, { name, document: schema }]) => {
    const found = await readStore.find(name, {});
    const isWhole = found.every(({ document }) => isDeepStrictEqual(schema.parse(document), document));
    if (!isWhole) throw new Error(`${model.name} makes a ${role} with members that its schema leaves out`);
    return [role, Object.fromEntries(found.map(({ id, document }) => [id, document]))] as const;
  });
  return Object.fromEntries(await Promise.all(byRole));
};

/** Brings read models up to these events, as a projector does: a document takes only what is newer than itself. */
export const projectInto = async (
  readStore: Store,
  models: readonly ReadModel[],
  events: readonly StoredEvent[],
): Promise<void> => {
  for (const model of models) {
    for (const event of events) if (model.eventTypes.includes(event.type)) await projectOne(readStore, model, event);
    const permanent = events.findLast(({ stream }) => isPermanent(stream));
    await readStore.apply(model.name, [], events.at(-1)?.position ?? 0, permanent && placeOf(permanent));
  }
};

/** Brings read models and the transparency log up to what is stored. */
export const projectStored = async (
  foundation: Pick<TestFoundation, 'eventStore' | 'keyVault' | 'masterKey' | 'clock'> & { readStore: Store },
  models = readModels,
): Promise<void> => {
  const { events } = await foundation.eventStore.readAll(0, undefined, Infinity);
  const opened = await personalDataOf(foundation).open(events);
  for (const model of models) await projectInto(foundation.readStore, [model], model.keepsSealed ? events : opened);
  await buildLog(foundation);
};

/** Brings the transparency log up to what is stored. */
export const buildLog = async ({
  eventStore,
  readStore,
}: {
  eventStore: Pick<EventStore, 'readAll'>;
  readStore: Store;
}): Promise<void> => {
  const log = new StoredLog(readStore);
  const { size, position } = await log.state();
  const edge = await TreeEdge.of(size, (tiles) => log.tiles(tiles));
  await log.add(edge, await eventStore.readAll(position, undefined, Infinity));
};

const projectOne = async (readStore: Store, model: ReadModel, event: StoredEvent): Promise<void> => {
  const touched = Object.entries(model.collections).flatMap(([role, { name: collection }]) => {
    const id = model.touches(event)[role];
    return id === undefined ? [] : [{ role, collection, id }];
  });
  const before: Record<string, JsonObject | undefined> = {};
  for (const { role, collection, id } of touched) {
    before[role] = (await readStore.getMany(collection, [id])).get(id)?.document;
  }
  const after = model.evolve(before, event);
  const { position } = event;
  const changes = touched.flatMap(({ role, collection, id }) => {
    const document = after[role];
    return document ? [{ collection, id, position, document }] : [];
  });
  await readStore.apply(model.name, changes, position);
};
