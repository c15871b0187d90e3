import { isDeepStrictEqual } from 'node:util';
import { parkedTopics, topics, type Topic } from '../../../schemas/topics.ts';
import type { Engines } from '../../../shared/host/engines/engines.ts';
import type { EventSealing } from '../../../shared/event-store/transactions/event-sealing.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import type { EventStore, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { MAC_HEADER } from '../../../shared/message-bus/genuine/message-macs.ts';
import type { BusMessage, MessageBus } from '../../../shared/message-bus/message-bus.ts';
import { readModels } from '../../../shared/read-models/catalogue.ts';
import { MemoryReadStore } from '../../../shared/testing/engines/read-store.memory.ts';
import { isLasting } from '../../../shared/event-store/permanent-streams.ts';
import { leafOf } from '../../../shared/transparency-log/leaf-entry.ts';
import { type LogState, StoredLog } from '../../../shared/transparency-log/stored-log.ts';
import { tilePath, TreeEdge } from '../../../shared/transparency-log/tiles.ts';
import type { ReadStore, StoredDocument } from '../../../shared/read-store/read-store.ts';
import { projectBatch } from '../../projector/testing/project-once.ts';
import { keyOf, publishedTypes, topicOf, type TopicName } from '../../relay/publish-events/address-event.ts';
import { toCloudEvent } from '../../relay/publish-events/cloud-event.ts';

/** Large pages, because the test server scans the whole collection for each. */
const DOCUMENTS_PER_PAGE = 20_000;
const SHOWN_MAX = 5;

/**
 * Compares read models and topics with the event store: every document with that of a fold from the first event, and
 * every topic, without repeats, with the messages of its events, complete and in order per key. No message may be
 * parked, because all of these events can be published.
 * @returns the differences; empty if everything agrees
 */
export const disagreements = async (
  events: readonly StoredEvent[],
  { readStore, messageBus }: Pick<Engines, 'readStore' | 'messageBus'>,
  personalData: Pick<EventSealing, 'open'>,
): Promise<string[]> => [
  ...(await inReadModels(events, readStore, personalData)),
  ...(await inTransparencyLog(events, readStore)),
  ...(await inTopics(events, messageBus)),
];

export const everyEvent = async (eventStore: EventStore): Promise<StoredEvent[]> => {
  const events: StoredEvent[] = [];
  for await (const event of readEvery(eventStore)) events.push(event);
  return events;
};

const inReadModels = async (
  events: readonly StoredEvent[],
  readStore: ReadStore,
  personalData: Pick<EventSealing, 'open'>,
): Promise<string[]> => {
  const opened = await personalData.open(events);
  const fold = new MemoryReadStore();
  const collections = readModels.flatMap((model) => Object.values(model.collections));
  await fold.define(collections);
  for (const model of readModels) {
    const followed = (model.keepsSealed ? events : opened).filter(({ type }) => model.eventTypes.includes(type));
    await projectBatch(model, fold, { events: followed, position: events.at(-1)?.position ?? 0 });
  }
  const found: string[] = [];
  for (const { name } of collections) {
    const keys = differingKeys(await everyDocument(fold, name), await everyDocument(readStore, name));
    if (keys.length > 0) found.push(`${name}: ${differText(keys)}`);
  }
  return found;
};

/** Compares the stored tree with one that is made of all events at once. */
const inTransparencyLog = async (events: readonly StoredEvent[], readStore: ReadStore): Promise<string[]> => {
  const edge = TreeEdge.empty();
  const tiles = edge.append(events.filter(({ stream }) => isLasting(stream)).map(leafOf));
  const log = new StoredLog(readStore);
  const described = ({ size, root }: Pick<LogState, 'size' | 'root'>): string =>
    `${String(size)} leaves of root ${root.toString('base64')}`;
  const expected = { size: edge.size, root: edge.root() };
  const state = await log.state();
  const stored = await log.tiles(tiles);
  const wrong = tiles.filter(({ tile }, at) => !Buffer.from(tile).equals(stored[at] ?? Buffer.alloc(0)));
  return [
    ...(described(state) === described(expected) ? [] : [`log: ${described(state)}, not ${described(expected)}`]),
    ...wrong.map((tile) => `log: tile ${tilePath(tile)} differs`).slice(0, SHOWN_MAX),
  ];
};

/** All documents of a collection, by id and in the order of ids. */
export const everyDocument = async (store: ReadStore, collection: string): Promise<Map<string, StoredDocument>> => {
  const documents = new Map<string, StoredDocument>();
  for (let last = ''; ;) {
    const page = await store.find(collection, {
      filter: { id: { gt: last } },
      sort: [['id', 'asc']],
      limit: DOCUMENTS_PER_PAGE,
    });
    for (const document of page) documents.set(document.id, document);
    if (page.length < DOCUMENTS_PER_PAGE) return documents;
    last = page.at(-1)?.id ?? '';
  }
};

const inTopics = async (events: readonly StoredEvent[], messageBus: MessageBus): Promise<string[]> => {
  const types: readonly string[] = publishedTypes;
  const published = Map.groupBy(
    events.filter(({ type }) => types.includes(type)),
    topicOf,
  );
  const found: string[] = [];
  for (const name of Object.keys(topics) as TopicName[]) {
    const topic = topics[name];
    const expected = (published.get(name) ?? []).map((event) => {
      const key = keyOf(event);
      return { ...toCloudEvent(event, key), partition: messageBus.partitionOf(topic, key) };
    });
    const keys = differingKeys(byKey(expected), byKey(withoutRepeats(await everyMessage(messageBus, topic))));
    if (keys.length > 0) found.push(`${topic.name}: ${differText(keys)}`);
    const parked = await everyMessage(messageBus, parkedTopics[name]);
    if (parked.length > 0) found.push(`${parkedTopics[name].name}: ${String(parked.length)} messages`);
  }
  return found;
};

type Published = Omit<BusMessage, 'offset'>;

/**
 * Drops repeated messages, which are equal in everything but the offset, and signatures, which follow from the rest.
 */
const withoutRepeats = (messages: readonly BusMessage[]): Published[] => {
  const seen = new Map<string, Published>();
  for (const { offset: _, headers: all, ...rest } of messages) {
    const { [MAC_HEADER]: _mac, ...headers } = all;
    const message = { ...rest, headers };
    const text = JSON.stringify(message);
    if (!seen.has(text)) seen.set(text, message);
  }
  return [...seen.values()];
};

const byKey = (messages: readonly Published[]): Map<string, Published[]> => Map.groupBy(messages, ({ key }) => key);

/** Every message that a topic holds now. */
export const everyMessage = async (messageBus: MessageBus, topic: Topic): Promise<BusMessage[]> => {
  const [from, ends] = [await messageBus.offsets(topic, 'earliest'), await messageBus.offsets(topic, 'latest')];
  const unfinished = new Set(
    [...ends].filter(([partition, end]) => from.get(partition) !== end).map(([partition]) => partition),
  );
  const messages: BusMessage[] = [];
  if (unfinished.size === 0) return messages;
  const stop = new AbortController();
  for await (const batch of messageBus.consume(topic, from, stop.signal)) {
    messages.push(...batch.messages);
    const newest = BigInt(batch.messages.at(-1)?.offset ?? -1);
    if (newest + 1n >= BigInt(ends.get(batch.partition) ?? 0)) unfinished.delete(batch.partition);
    if (unfinished.size === 0) stop.abort();
  }
  return messages;
};

/** The keys whose values differ. */
const differingKeys = (left: ReadonlyMap<string, unknown>, right: ReadonlyMap<string, unknown>): string[] =>
  [...new Set([...left.keys(), ...right.keys()])].filter((key) => !isDeepStrictEqual(left.get(key), right.get(key)));

const differText = (keys: readonly string[]): string =>
  `${keys.slice(0, SHOWN_MAX).join(', ')}${keys.length > SHOWN_MAX ? ` and ${String(keys.length - SHOWN_MAX)} more` : ''} differ`;
