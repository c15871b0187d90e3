import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { loadSettings } from '../../../shared/config/load-settings.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { closeEngines, everyEngine, openEngines, type Engines } from '../../../shared/engines/engines.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import type { EventToAppend, Position } from '../../../shared/event-store/event-store.ts';
import type { SupervisedLoop } from '../../../shared/lifecycle/supervised-loop.ts';
import type { StoredDocument } from '../../../shared/read-store/read-store.ts';
import { chainEventsProjection } from '../../projector/chain-events/chain-events.projection.ts';
import { projectionLoop } from '../../projector/run-projection/projection-runner.ts';
import { RELAY_CHECKPOINT } from '../../relay/publish-events/checkpoint.ts';
import { relayLoop } from '../../relay/publish-events/relay-loop.ts';
import { bulkUpsert, dropDatabase } from './bulk-upsert.mongo.ts';
import { deleteTopics } from './delete-topics.kafka.ts';
import { StandInProcess } from './stand-in-process.ts';
import { measure, type Report } from './measure.ts';

const EVENTS = 100_000;
const CONTRACTS = 50;
const EVENTS_PER_APPEND = 500;
const PAGE = 1_000;
const POLL_MS = 5;
const logger = pino({ level: 'error' });

/** The relay into Kafka, and a projection into MongoDB beside what MongoDB does by itself, from EventStoreDB. */
export const benchEngines = async (_folder: string, report: Report): Promise<void> => {
  const { settings: given } = loadSettings(process.env);
  const { KAFKA_BROKERS, MONGO_URL } = given;
  if (!KAFKA_BROKERS || !MONGO_URL)
    throw new CannotStart('set KAFKA_BROKERS and MONGO_URL to servers that may be used');
  const standIn = given.EVENTSTORE_URL === undefined ? await StandInProcess.start() : undefined;
  const name = `bench-${randomUUID().slice(0, 8)}`;
  const settings: Settings = {
    ...given,
    EVENTSTORE_URL: given.EVENTSTORE_URL ?? standIn?.url,
    TOPIC_PREFIX: `${name}.`,
    MONGO_DATABASE: name,
  };
  const engines = await openEngines(settings, logger, everyEngine);
  try {
    const from = await engines.eventStore.head();
    report(await measure('append, 500 events an append', EVENTS, () => append(engines)));
    await startFrom(engines, from);
    report(
      await measure('relay into Kafka', EVENTS, () =>
        catchUp(engines, RELAY_CHECKPOINT, relayLoop({ ...engines, logger })),
      ),
    );
    const projection = projectionLoop(chainEventsProjection, { ...engines, logger });
    const projected = await measure('projection of chain events into MongoDB', EVENTS, () =>
      catchUp(engines, chainEventsProjection.name, projection),
    );
    report(projected);
    const documents = await everyDocument(engines);
    report(
      await measure("MongoDB's own bulk upserts of the same", documents.length, () =>
        bulkUpsert(MONGO_URL, name, documents),
      ),
    );
  } finally {
    await closeEngines(engines);
    await dropDatabase(MONGO_URL, name);
    await deleteTopics(KAFKA_BROKERS, settings.TOPIC_PREFIX);
    await standIn?.stop();
  }
};

const metadata = { correlationId: 'bench', actor: { type: 'system', id: 'bench' } } as const;
const address = (contract: number): string => `0x${contract.toString(16).padStart(40, 'b')}`;

const observed = (contract: number, index: number): EventToAppend => ({
  id: randomUUID(),
  type: 'ChainEventObserved',
  schemaVersion: 1,
  time: Date.now(),
  data: {
    ...(eventExamples.ChainEventObserved as JsonObject),
    ContractAddress: address(contract),
    BlockNumber: Math.floor(index / 10),
    LogIndex: index % 10,
  },
  metadata,
});

const append = async ({ eventStore }: Engines): Promise<void> => {
  for (let index = 0; index < EVENTS / CONTRACTS; index += EVENTS_PER_APPEND) {
    for (let contract = 0; contract < CONTRACTS; contract += 1) {
      const events = Array.from({ length: EVENTS_PER_APPEND }, (_, at) => observed(contract, index + at));
      await eventStore.append(`chain-2484-${address(contract)}`, index - 1, events);
    }
  }
};

/** A store that holds other events already is not read from its beginning. */
const startFrom = async ({ readStore }: Engines, position: Position): Promise<void> => {
  for (const name of [RELAY_CHECKPOINT, chainEventsProjection.name]) await readStore.apply(name, [], position);
};

const catchUp = async ({ eventStore, readStore }: Engines, checkpoint: string, loop: SupervisedLoop): Promise<void> => {
  const head = await eventStore.head();
  loop.start();
  while ((await readStore.position(checkpoint)) < head) await pause(POLL_MS);
  await loop.stop();
};

const everyDocument = async ({ readStore }: Engines): Promise<StoredDocument[]> => {
  const documents: StoredDocument[] = [];
  for (let last = ''; ;) {
    const page = await readStore.find(readModels.chainEvents.collection, {
      filter: { id: { gt: last } },
      sort: [['id', 'asc']],
      limit: PAGE,
    });
    documents.push(...page);
    if (page.length < PAGE) return documents;
    last = page.at(-1)?.id ?? '';
  }
};
