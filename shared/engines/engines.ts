import { join, resolve } from 'node:path';
import { collections } from '../../schemas/read-models/catalogue.ts';
import { allTopics } from '../../schemas/topics.ts';
import { maskUrl } from '../config/mask-url.ts';
import type { Settings } from '../config/settings.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { errorCode } from '../errors/error-code.ts';
import { SqliteEventStore } from '../event-store/event-store.sqlite.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { SqliteMessageBus } from '../message-bus/message-bus.sqlite.ts';
import type { MessageBus } from '../message-bus/message-bus.ts';
import type { Logger } from '../observability/logger.ts';
import { SqliteReadStore } from '../read-store/read-store.sqlite.ts';
import type { ReadStore } from '../read-store/read-store.ts';

export interface Engines {
  eventStore: EventStore;
  messageBus: MessageBus;
  readStore: ReadStore;
}
export type EngineName = keyof Engines;

export const everyEngine = ['eventStore', 'messageBus', 'readStore'] as const satisfies readonly EngineName[];

/** The only place that names adapters: each engine is the one that its own setting chooses, else embedded. */
const openers: { [Name in EngineName]: (settings: Settings, logger: Logger) => Promise<Engines[Name]> } = {
  eventStore: ({ DATA_DIR }) =>
    Promise.resolve(embedded(DATA_DIR, () => new SqliteEventStore(join(DATA_DIR, 'events.db')))),
  messageBus: ({ DATA_DIR }) => {
    const messageBus = embedded(DATA_DIR, () => new SqliteMessageBus(join(DATA_DIR, 'bus.db')));
    return prepared(messageBus, () => messageBus.createTopics(allTopics));
  },
  readStore: ({ DATA_DIR }) => {
    const readStore = embedded(DATA_DIR, () => new SqliteReadStore(join(DATA_DIR, 'read.db')));
    return prepared(readStore, () => readStore.define(collections));
  },
};

const choosers: Record<EngineName, (settings: Settings) => string | undefined> = {
  eventStore: ({ EVENTSTORE_URL }) => EVENTSTORE_URL && maskUrl(EVENTSTORE_URL),
  messageBus: ({ KAFKA_BROKERS }) => KAFKA_BROKERS && `kafka ${KAFKA_BROKERS.join(', ')}`,
  readStore: ({ MONGO_URL }) => MONGO_URL && maskUrl(MONGO_URL),
};

/** Whether an engine is a file in `DATA_DIR`. */
export const isEmbedded = (name: EngineName, settings: Settings): boolean => choosers[name](settings) === undefined;

/** What these engines are and where, without secrets. */
export const describeEngines = (settings: Settings, names: readonly EngineName[]): Record<string, string> =>
  Object.fromEntries(
    names.map((name) => [name, choosers[name](settings) ?? `embedded in ${resolve(settings.DATA_DIR)}`]),
  );

/**
 * Opens these engines, ready for use: topics and collections are there.
 * @throws CannotStart that names every setting whose engine does not answer, or does not fit; none is left open
 */
export const openEngines = async <Name extends EngineName>(
  settings: Settings,
  logger: Logger,
  names: readonly Name[],
): Promise<Pick<Engines, Name>> => {
  const engines: Partial<Engines> = {};
  const open = async (name: Name): Promise<void> => {
    engines[name] = await openers[name](settings, logger);
  };
  const outcomes = await Promise.allSettled(names.map((name) => open(name)));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  // Each of the names was opened.
  if (failures.length === 0) return engines as Pick<Engines, Name>;
  await closeEngines(engines);
  throw asOne(failures);
};

export const closeEngines = async (engines: Partial<Engines>): Promise<void> => {
  await Promise.all(Object.values(engines).map((engine) => engine.close()));
};

const asOne = (failures: readonly unknown[]): unknown => {
  const [first] = failures;
  if (failures.length === 1 || !failures.every((failure) => failure instanceof CannotStart)) return first;
  return new CannotStart(failures.map(({ message }) => message).join('; '), { cause: new AggregateError(failures) });
};

/** An engine that cannot be prepared is not left open. */
const prepared = async <Engine extends { close: () => Promise<void> }>(
  engine: Engine,
  prepare: () => Promise<void>,
): Promise<Engine> => {
  try {
    await prepare();
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
};

const embedded = <Engine>(folder: string, open: () => Engine): Engine => {
  try {
    return open();
  } catch (cause) {
    if (errorCode(cause) !== 'ERR_SQLITE_ERROR' || !(cause instanceof Error)) throw cause;
    const what = `a store in ${folder} cannot be opened (${cause.message})`;
    throw new CannotStart(`${what}: put it back from a copy, or set DATA_DIR to an empty folder`, { cause });
  }
};
