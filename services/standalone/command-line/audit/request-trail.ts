import { executorEvents, executorStream } from '../../../../schemas/events/onchain/executor-events.ts';
import { onchainEvents, onchainStream } from '../../../../schemas/events/onchain/onchain-events.ts';
import { transactionEvents, transactionStream } from '../../../../schemas/events/onchain/transaction-events.ts';
import type { JsonObject } from '../../../../schemas/json.ts';
import type { EventStore, Position, StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { readEvery } from '../../../../shared/event-store/read-every.ts';
import type { MessageBus } from '../../../../shared/message-bus/message-bus.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { readModels } from '../../../../shared/read-models/catalogue.ts';
import { TRAIL_EVENTS_MAX, trailsModel } from '../../../../shared/read-models/trails.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { findMessage, RELAY_CHECKPOINT, type MessagePlace } from '../../../relay/find-message.ts';

/** A correlation id of a loop, such as `event-catcher`, has as many events as the loop ever stored. */
const EVENTS_MAX = TRAIL_EVENTS_MAX - 1;

/** Members that identify an operation, a bundle or a block. None is personal. */
const FACTS = [
  'transactionId',
  'userOpHash',
  'chainId',
  'executor',
  'nonce',
  'transactionHash',
  'blockNumber',
  'blockHash',
];

export interface TrailEvent extends Pick<StoredEvent, 'stream' | 'revision' | 'type' | 'position' | 'id'> {
  time: string;
  /** Of the events of transactions and bundles, what names the operation, the bundle and the block. */
  facts: Record<string, string | number>;
  /** `null` for an event that is not published. */
  message: MessagePlace | null;
  /** The read models that fold it, and whether they have. */
  readModels: { name: string; hasIt: boolean }[];
  /** The events that it caused, and what became of the transaction that it submitted. */
  events: TrailEvent[];
}

export interface Trail {
  requestId: string;
  events: TrailEvent[];
  /** Whether there are more than 1,000 events; then only the first are here. */
  truncated: boolean;
}

interface Sources {
  eventStore: Pick<EventStore, 'read' | 'readAll'>;
  messageBus: Pick<MessageBus, 'offsets' | 'consume' | 'partitionOf'>;
  readStore: Pick<ReadStore, 'position' | 'getMany'>;
}

export interface Asked {
  requestId: string;
  /** The first and the last position of which every event is read. Without the first, the index says where they are. */
  from: Position | undefined;
  to: Position;
}

/**
 * Follows a request: the events that have its id as correlation id, what they caused, and for each transaction that it
 * sent everything that became of it. Reads what the read model of trails names, and the events that it does not have
 * yet; of a range every event.
 * @param report is called with how many of so many positions were read
 */
export const trailOf = async (
  sources: Sources,
  asked: Asked,
  signal: AbortSignal,
  report: (read: number, of: number) => void,
): Promise<Trail> => {
  const { found, upTo } =
    asked.from === undefined ? await indexed(sources, asked, signal) : { found: [], upTo: asked.from - 1 };
  for await (const event of readEvery(sources.eventStore, { after: upTo })) {
    signal.throwIfAborted();
    if (event.position > asked.to || found.length > EVENTS_MAX) break;
    report(event.position - upTo, asked.to - upTo);
    if (event.metadata.correlationId === asked.requestId) found.push(event);
  }
  const own = found.slice(0, EVENTS_MAX);
  const known = new Map(own.map((event) => [event.id, event]));
  const children = Map.groupBy(own, ({ metadata: { causationId = '' } }) =>
    known.has(causationId) ? causationId : '',
  );
  for (const event of own.filter(({ type }) => type === 'TxSubmitted')) {
    const later = (await afterSubmission(sources.eventStore, event)).filter(({ id }) => !known.has(id));
    children.set(event.id, [...(children.get(event.id) ?? []), ...later]);
  }
  const described = await describer(sources, signal);
  const withChildren = async (event: StoredEvent): Promise<TrailEvent> => ({
    ...(await described(event)),
    events: await inOrder(children.get(event.id) ?? []),
  });
  const inOrder = async (events: readonly StoredEvent[]): Promise<TrailEvent[]> => {
    const told: TrailEvent[] = [];
    for (const event of events.toSorted((one, other) => one.position - other.position))
      told.push(await withChildren(event));
    return told;
  };
  return {
    requestId: asked.requestId,
    events: await inOrder(children.get('') ?? []),
    truncated: found.length > EVENTS_MAX,
  };
};

/** Returns the events that the read model names, and the position up to which it has all. */
const indexed = async (
  { eventStore, readStore }: Pick<Sources, 'eventStore' | 'readStore'>,
  { requestId }: Asked,
  signal: AbortSignal,
): Promise<{ found: StoredEvent[]; upTo: Position }> => {
  const { name, document } = trailsModel.collections.trail;
  // A document that is read after its checkpoint may also have events after it: these are read once more.
  const upTo = await readStore.position(trailsModel.name);
  const stored = (await readStore.getMany(name, [requestId])).get(requestId);
  const found: StoredEvent[] = [];
  for (const [stream, revision] of stored ? document.parse(stored.document).events : []) {
    signal.throwIfAborted();
    const [event] = await eventStore.read(stream, { from: revision, limit: 1 });
    if (event && event.position <= upTo) found.push(event);
  }
  return { found, upTo };
};

/** Returns the later events of a transaction, and those of the bundles that had it, as far as they are kept. */
const afterSubmission = async (eventStore: Pick<EventStore, 'read'>, { data }: StoredEvent): Promise<StoredEvent[]> => {
  const { transactionId, chainId } = transactionEvents.TxSubmitted.data
    .pick({ transactionId: true, chainId: true })
    .parse(data);
  const [, ...later] = await eventStore.read(transactionStream(transactionId));
  const [prepared] = await eventStore.read(onchainStream(chainId), { direction: 'backwards', limit: 1 });
  if (!prepared) return later;
  const { executors } = onchainEvents.ChainPrepared.data.parse(prepared.data);
  for (const executor of executors) {
    const bundles = await eventStore.read(executorStream(chainId, executor));
    const signed = new Set(
      bundles
        .filter(({ type }) => type === 'BundleSigned' || type === 'BundleReplaced')
        .map((event) => executorEvents.BundleSigned.data.parse(event.data))
        .filter(({ operations }) => operations.includes(transactionId))
        .map(({ transactionHash }) => transactionHash),
    );
    later.push(...bundles.filter((event) => signed.has(hashOf(event))));
  }
  return later;
};

/** The index of trails says nothing about an event. */
const queried = readModels.filter(({ name }) => name !== trailsModel.name);

const describer = async ({ messageBus, readStore }: Sources, signal: AbortSignal) => {
  // Asked by name, not taken from all checkpoints: that of a read model is of the version that queries read.
  const names = [RELAY_CHECKPOINT, ...queried.map(({ name }) => name)];
  const positions = new Map(
    await Promise.all(names.map(async (name) => [name, await readStore.position(name)] as const)),
  );
  const reached = (name: string) => positions.get(name) ?? 0;
  return async (event: StoredEvent): Promise<Omit<TrailEvent, 'events'>> => {
    const { stream, revision, type, position, id, time, data } = event;
    const message = await findMessage(messageBus, event, reached(RELAY_CHECKPOINT), signal);
    const folding = queried.filter(({ eventTypes }) => eventTypes.includes(type));
    return {
      ...{ stream, revision, type, position, id, time: toIso(time) },
      facts: /^(transaction|executor)-/.test(stream) ? pick(data) : {},
      message: message ?? null,
      readModels: folding.map(({ name }) => ({ name, hasIt: reached(name) >= position })),
    };
  };
};

const hashOf = ({ data: { transactionHash } }: StoredEvent): string =>
  typeof transactionHash === 'string' ? transactionHash : '';

const pick = (data: JsonObject): TrailEvent['facts'] =>
  Object.fromEntries(
    FACTS.flatMap((member) => {
      const value = data[member];
      return typeof value === 'string' || typeof value === 'number' ? [[member, value] as const] : [];
    }),
  );
