import { join, resolve } from 'node:path';
import { collections, readModels } from '../../read-models/catalogue.ts';
import { allTopics } from '../../../schemas/topics.ts';
import { maskUrl } from '../../config/mask-url.ts';
import type { SettingName, Settings } from '../../config/settings.ts';
import { CannotStart, DoesNotAnswer } from '../../errors/cannot-start.ts';
import { nodeErrorCode } from '../../errors/node-error-code.ts';
import { Refusal } from '../../errors/refusal.ts';
import { damageLine, reportDamage } from '../../primitives/sqlite/damage/damaged-files.ts';
import { isBusy } from '../../primitives/sqlite/sqlite-errors.ts';
import { SqliteEventStore } from '../../event-store/embedded/event-store.sqlite.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import { SqliteMessageBus } from '../../message-bus/embedded/message-bus.sqlite.ts';
import type { MessageBus } from '../../message-bus/message-bus.ts';
import { SqliteKeyVault } from '../../key-vault/embedded/key-vault.sqlite.ts';
import type { KeyVault } from '../../key-vault/key-vault.ts';
import { VAULT_FILE } from '../../keys/master-key.ts';
import { patiently } from './patience.ts';
import { shareFolder } from './folder-locks.sqlite.ts';
import { requireSameModels } from './same-models.ts';
import { requireWritable } from '../preflight.ts';
import type { StartingProcess } from '../run-process.ts';
import type { Logger } from 'pino';
import { SqliteReadStore } from '../../read-store/embedded/read-store.sqlite.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import { VersionedReadStore } from '../../read-store/versions/versioned-read-store.ts';

export interface Engines {
  eventStore: EventStore;
  messageBus: MessageBus;
  readStore: ReadStore;
  keyVault: KeyVault;
}
export type EngineName = keyof Engines;

export const everyEngine = [
  'eventStore',
  'messageBus',
  'readStore',
  'keyVault',
] as const satisfies readonly EngineName[];

/**
 * The only place that names adapters of the engines. Each engine is chosen by its own setting, and is embedded without
 * it. The adapter of a server is loaded only when it is chosen: the clients are half of the modules that a process
 * would load.
 */
const openers: { [Name in EngineName]: (settings: Settings, logger: Logger) => Promise<Engines[Name]> } = {
  eventStore: async (settings, logger) => {
    const { EVENTSTORE_URL } = settings;
    if (EVENTSTORE_URL === undefined) return embedded(settings, 'events.db', (file) => new SqliteEventStore(file));
    const { EsdbEventStore } = await import('../../event-store/eventstoredb/event-store.esdb.ts');
    return EsdbEventStore.connect({ settings: { EVENTSTORE_URL }, logger });
  },
  messageBus: async (settings, logger) => {
    const { KAFKA_BROKERS, TOPIC_PREFIX: prefix, TOPIC_PARTITIONS: partitions } = settings;
    const connect = async (brokers: string[]): Promise<MessageBus> => {
      const { KafkaMessageBus } = await import('../../message-bus/kafka/message-bus.kafka.ts');
      return KafkaMessageBus.connect({ settings: { ...settings, KAFKA_BROKERS: brokers }, logger });
    };
    const messageBus = KAFKA_BROKERS
      ? await connect(KAFKA_BROKERS)
      : embedded(settings, 'bus.db', (file) => new SqliteMessageBus(file, { prefix, partitions }));
    return prepared(settings, 'messageBus', messageBus, () => messageBus.createTopics(allTopics));
  },
  readStore: async (settings, logger) => {
    const { MONGO_URL } = settings;
    const connect = async (url: string): Promise<ReadStore> => {
      const { MongoReadStore } = await import('../../read-store/mongodb/read-store.mongo.ts');
      return MongoReadStore.connect({ settings: { ...settings, MONGO_URL: url }, logger });
    };
    const stored =
      MONGO_URL === undefined
        ? embedded(settings, 'read.db', (file) => new SqliteReadStore(file))
        : await connect(MONGO_URL);
    const readStore = new VersionedReadStore(stored, readModels);
    return prepared(settings, 'readStore', readStore, async () => {
      await readStore.define(collections);
      await requireSameModels(readStore, settings);
    });
  },
  keyVault: async (settings, logger) => {
    const { MONGO_URL } = settings;
    if (MONGO_URL === undefined) return embedded(settings, VAULT_FILE, (file) => new SqliteKeyVault(file));
    const { MongoKeyVault } = await import('../../key-vault/mongodb/key-vault.mongo.ts');
    return MongoKeyVault.connect({ settings: { ...settings, MONGO_URL }, logger });
  },
};

const elsewhere: Record<EngineName, (settings: Settings) => string | undefined> = {
  eventStore: ({ EVENTSTORE_URL }) => EVENTSTORE_URL && maskUrl(EVENTSTORE_URL),
  messageBus: ({ KAFKA_BROKERS }) => KAFKA_BROKERS && `kafka://${KAFKA_BROKERS.join(',')}`,
  readStore: ({ MONGO_URL }) => MONGO_URL && maskUrl(MONGO_URL),
  keyVault: ({ MONGO_URL }) => MONGO_URL && maskUrl(MONGO_URL),
};

/** Whether an engine is a file in `DATA_DIR`. */
export const isEmbedded = (name: EngineName, settings: Settings): boolean => elsewhere[name](settings) === undefined;

/** Uses the data folder until the process ends, so that no other process empties it. @throws CannotStart */
export const useDataFolder = ({
  settings: { DATA_DIR },
  shutdown,
}: Pick<StartingProcess, 'settings' | 'shutdown'>): void => {
  requireWritable(DATA_DIR);
  shutdown.add('data folder', shareFolder(DATA_DIR));
};

/** Describes the engines and their addresses, without secrets. */
export const describeEngines = (settings: Settings, names: readonly EngineName[]): Record<string, string> =>
  Object.fromEntries(
    names.map((name) => [name, elsewhere[name](settings) ?? `embedded in ${resolve(settings.DATA_DIR)}`]),
  );

/**
 * Opens these engines, ready for use, with their topics and collections.
 * @param patienceMs how long an engine that does not answer is tried; default: once
 * @throws CannotStart that names every setting whose engine does not answer or is not usable; then all are closed again
 */
export const openEngines = async <Name extends EngineName>(
  settings: Settings,
  logger: Logger,
  names: readonly Name[],
  patienceMs = 0,
): Promise<Pick<Engines, Name>> => {
  reportDamage((line) => {
    logger.error(line);
  });
  const engines: Partial<Engines> = {};
  const refused = new AbortController();
  const open = async (name: Name): Promise<void> => {
    const patience = { patienceMs, logger, signal: refused.signal };
    try {
      engines[name] = await patiently(() => openers[name](settings, logger), patience);
    } catch (error) {
      refused.abort();
      throw error;
    }
  };
  const outcomes = await Promise.allSettled(names.map((name) => open(name)));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  // Without failures, every name has an engine.
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

const preparedEngines = {
  messageBus: { setting: 'KAFKA_BROKERS', file: 'bus.db' },
  readStore: { setting: 'MONGO_URL', file: 'read.db' },
} as const satisfies Partial<Record<EngineName, { setting: SettingName; file: string }>>;

/** Prepares an engine, and closes it if that fails. */
const prepared = async <Engine extends { close: () => Promise<void> }>(
  settings: Settings,
  name: keyof typeof preparedEngines,
  engine: Engine,
  prepare: () => Promise<void>,
): Promise<Engine> => {
  const { setting, file } = preparedEngines[name];
  try {
    await prepare();
    return engine;
  } catch (cause) {
    await engine.close();
    if (isEmbedded(name, settings)) throw refusedFile(join(settings.DATA_DIR, file), cause);
    throw cause instanceof Refusal ? new DoesNotAnswer(`${setting}: ${cause.detail}`, { cause }) : cause;
  }
};

const embedded = <Engine>({ DATA_DIR }: Settings, name: string, open: (file: string) => Engine): Engine => {
  const file = join(DATA_DIR, name);
  try {
    return open(file);
  } catch (cause) {
    throw refusedFile(file, cause);
  }
};

/** Returns the error to throw if an embedded engine cannot be opened. */
const refusedFile = (file: string, cause: unknown): unknown => {
  if (cause instanceof Refusal && cause.cause instanceof Error) return new CannotStart(cause.cause.message, { cause });
  if (nodeErrorCode(cause) !== 'ERR_SQLITE_ERROR') return cause;
  if (isBusy(cause)) return new CannotStart(`${file} is locked by another process: end its transaction`, { cause });
  return new CannotStart(damageLine(file, cause instanceof Error ? cause.message : String(cause)), { cause });
};
