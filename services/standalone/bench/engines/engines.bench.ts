import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { personalDataOf } from '../../../../shared/key-vault/personal-data.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../../../shared/host/engines/engines.ts';
import { CannotStart } from '../../../../shared/errors/cannot-start.ts';
import type { EventStore } from '../../../../shared/event-store/event-store.ts';
import type { SupervisedLoop } from '../../../../shared/loops/supervised-loop.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import type { ReadStore, StoredDocument } from '../../../../shared/read-store/read-store.ts';
import { dropDatabases } from '../../../../shared/testing/engines/drop-databases.mongo.ts';
import { deleteTopics } from '../../../../shared/testing/engines/kafka-admin.kafka.ts';
import { projectionLoop } from '../../../projector/run-projection/projection-loop.ts';
import { RELAY_CHECKPOINT } from '../../../relay/publish-events/checkpoint.ts';
import { relayLoop } from '../../../relay/publish-events/relay-loop.ts';
import { appendToSocket } from './append-to-socket.ts';
import { bulkUpsert } from './bulk-upsert.mongo.ts';
import { measure, type Report } from '../measure.ts';
import { someObservation } from './some-observation.ts';
import { startStandIn } from '../stand-in.ts';

/** A test server with 512 MB has room for twice as many. */
const EVENTS = 50_000;
const DOCUMENTS_PER_PAGE = 5_000;
const CONTRACTS = 50;
const EVENTS_PER_APPEND = 500;
const POLL_MS = 5;
const logger = pino({ level: 'error' });
const NO_SERVERS = 'set KAFKA_BROKERS and MONGO_URL to servers to measure';

/** The reason why this bench cannot run here, or `undefined` if it can. */
export const whyNoEngines = (): string | undefined => {
  const { KAFKA_BROKERS, MONGO_URL } = loadSettings(process.env).settings;
  return KAFKA_BROKERS && MONGO_URL ? undefined : NO_SERVERS;
};

/**
 * Measures the relay into Kafka, a projection into MongoDB and, to compare, plain upserts into MongoDB, and the time from
 * an append to a subscriber's socket. Events come from EventStoreDB at `EVENTSTORE_URL`, or else from its stand-in.
 */
export const benchEngines = async (folder: string, report: Report): Promise<void> => {
  const { settings: given } = loadSettings(process.env);
  const { KAFKA_BROKERS, MONGO_URL } = given;
  if (!KAFKA_BROKERS || !MONGO_URL) throw new CannotStart(`engines: ${NO_SERVERS}`);
  const standIn = given.EVENTSTORE_URL === undefined ? await startStandIn() : undefined;
  const name = `bench-${randomUUID().slice(0, 8)}`;
  const engineSettings = {
    EVENTSTORE_URL: given.EVENTSTORE_URL ?? standIn?.url ?? '',
    KAFKA_BROKERS: KAFKA_BROKERS.join(','),
    MONGO_URL,
    MONGO_DATABASE: name,
    TOPIC_PREFIX: `${name}.`,
  };
  const { settings } = loadSettings({ ...process.env, ...engineSettings });
  const engines = await openEngines(settings, logger, everyEngine);
  try {
    await benchThroughput(engines, { url: MONGO_URL, database: name }, report);
    report(await appendToSocket(join(folder, 'services'), engineSettings, engines.eventStore));
  } finally {
    await closeEngines(engines);
    await dropDatabases(MONGO_URL, [name]);
    await deleteTopics(KAFKA_BROKERS, settings.TOPIC_PREFIX);
    await standIn?.stop();
  }
};

const benchThroughput = async (
  engines: Engines,
  { url, database }: { url: string; database: string },
  report: Report,
): Promise<void> => {
  const { eventStore, readStore } = engines;
  // The store may hold other events already, which are not measured.
  const from = await eventStore.head();
  for (const name of [RELAY_CHECKPOINT, chainEventsModel.name]) await readStore.apply(name, [], from);
  report(await measure('append, 500 events an append', EVENTS, () => append(eventStore)));
  const relay = relayLoop({ ...engines, edgeKey: randomBytes(32), logger });
  report(await measure('relay into Kafka', EVENTS, () => catchUp(engines, RELAY_CHECKPOINT, relay)));
  const projection = projectionLoop(chainEventsModel, {
    ...engines,
    personalData: personalDataOf({ ...engines, masterKey: randomBytes(32), clock: systemClock }),
    logger,
  });
  const project = () => catchUp(engines, chainEventsModel.name, projection);
  report(await measure('projection of chain events into MongoDB', EVENTS, project));
  const documents = await everyDocument(readStore);
  const upsert = () => bulkUpsert(url, database, documents);
  report(await measure("MongoDB's own bulk upserts of the same", documents.length, upsert));
};

const everyDocument = async (readStore: ReadStore): Promise<StoredDocument[]> => {
  const documents: StoredDocument[] = [];
  for (let skip = 0; skip === documents.length; skip += DOCUMENTS_PER_PAGE) {
    documents.push(
      ...(await readStore.find(chainEventsModel.collections.record.name, { skip, limit: DOCUMENTS_PER_PAGE })),
    );
  }
  return documents;
};

const address = (contract: number): string => `0x${contract.toString(16).padStart(40, 'b')}`;

const append = async (eventStore: EventStore): Promise<void> => {
  for (let index = 0; index < EVENTS / CONTRACTS; index += EVENTS_PER_APPEND) {
    for (let contract = 0; contract < CONTRACTS; contract += 1) {
      const events = Array.from({ length: EVENTS_PER_APPEND }, (_, at) =>
        someObservation(address(contract), index + at),
      );
      await eventStore.append(`chain-2484-${address(contract)}`, index - 1, events);
    }
  }
};

const catchUp = async ({ eventStore, readStore }: Engines, checkpoint: string, loop: SupervisedLoop): Promise<void> => {
  const head = await eventStore.head();
  loop.start();
  while ((await readStore.position(checkpoint)) < head) await pause(POLL_MS);
  await loop.stop();
};
