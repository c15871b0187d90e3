import { join } from 'node:path';
import { collections } from '../../schemas/read-models/catalogue.ts';
import { topics } from '../../schemas/topics.ts';
import type { Settings } from '../config/settings.ts';
import { SqliteEventStore } from '../event-store/event-store.sqlite.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { SqliteMessageBus } from '../message-bus/message-bus.sqlite.ts';
import type { MessageBus } from '../message-bus/message-bus.ts';
import { SqliteReadStore } from '../read-store/read-store.sqlite.ts';
import type { ReadStore } from '../read-store/read-store.ts';

export interface Engines {
  eventStore: EventStore;
  messageBus: MessageBus;
  readStore: ReadStore;
}

export const openEventStore = ({ DATA_DIR }: Pick<Settings, 'DATA_DIR'>): EventStore =>
  new SqliteEventStore(join(DATA_DIR, 'events.db'));

/** The only place that names adapters: opens the three engines that the settings choose, ready for use. */
export const openEngines = async (settings: Pick<Settings, 'DATA_DIR'>): Promise<Engines> => {
  const engines = {
    eventStore: openEventStore(settings),
    messageBus: new SqliteMessageBus(join(settings.DATA_DIR, 'bus.db')),
    readStore: new SqliteReadStore(join(settings.DATA_DIR, 'read.db')),
  };
  await engines.readStore.define(collections);
  await engines.messageBus.createTopics(Object.values(topics));
  return engines;
};

export const closeEngines = async ({ eventStore, messageBus, readStore }: Engines): Promise<void> => {
  await Promise.all([eventStore.close(), messageBus.close(), readStore.close()]);
};
