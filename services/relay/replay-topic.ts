import { topics, type Topic } from '../../schemas/topics.ts';
import type { EventStore, Position, StoredEvent } from '../../shared/event-store/event-store.ts';
import { readEvery } from '../../shared/event-store/read-every.ts';
import type { Foundation, WithMessageBus } from '../../shared/host/foundation.ts';
import { GenuineMessages } from '../../shared/message-bus/genuine/genuine-messages.ts';
import { MessageMacs } from '../../shared/message-bus/genuine/message-macs.ts';
import type { MessageBus } from '../../shared/message-bus/message-bus.ts';
import { isAborted } from '../../shared/primitives/waiting/is-aborted.ts';
import { keyOrStream, type TopicName } from './publish-events/address-event.ts';
import { RELAY_CHECKPOINT } from './publish-events/checkpoint.ts';
import { LostEvents } from './publish-events/lost-events.ts';
import { BatchPublisher } from './publish-events/publish-batch.ts';

export type { TopicName };

/** A position of the event store, or a time in Unix milliseconds. */
export type Moment = { position: Position } | { time: number };

export interface ReplayRange {
  from: Position;
  to: Position;
}

export interface Replay extends ReplayRange {
  topic: string;
  /** The relay has published up to here. Later events are not lost, and the replay leaves them to the relay. */
  relayed: Position;
  /** Events of the topic in the range that it should have, and those that are older than it keeps messages. */
  events: number;
  tooOld: number;
  lost: number;
  published: number;
  byKey: { key: string; type: string; lost: number }[];
  /** Whether it ended before the whole range was compared. */
  interrupted: boolean;
}

type Options = Pick<
  Foundation & WithMessageBus,
  'eventStore' | 'messageBus' | 'readStore' | 'edgeKey' | 'logger' | 'clock'
>;

interface Asked extends ReplayRange {
  topic: TopicName;
  dryRun: boolean;
}

/**
 * Finds the positions of a range: from the first event of the topic that is not earlier than a time, to the last before
 * the first that is later. Reads the store for a time, because it has no index of times.
 */
export const rangeOf = async (
  eventStore: Pick<EventStore, 'readAll' | 'head'>,
  topic: TopicName,
  { from, to }: { from: Moment; to: Moment },
  signal: AbortSignal,
  report: (position: Position) => void,
): Promise<ReplayRange> => {
  const first = async (after: Position, isIt: (event: StoredEvent) => boolean): Promise<Position | undefined> => {
    for await (const event of readEvery(eventStore, { after, filter: { types: topics[topic].events } })) {
      signal.throwIfAborted();
      report(event.position);
      if (isIt(event)) return event.position;
    }
    return undefined;
  };
  const head = await eventStore.head();
  const start = 'time' in from ? ((await first(0, ({ time }) => time >= from.time)) ?? head + 1) : from.position;
  if (!('time' in to)) return { from: start, to: to.position };
  const later = await first(start - 1, ({ time }) => time > to.time);
  return { from: start, to: later === undefined ? head : later - 1 };
};

/**
 * Publishes again the events of a range whose messages the topic has lost, in the order of the store, beside a running
 * relay. The messages are those of the relay, but for their own time: that of a message is when it was published again,
 * so that the topic keeps it as long as any other.
 */
export const replayTopic = async (
  { eventStore, messageBus, readStore, logger, clock, edgeKey }: Options,
  { topic: name, from, to, dryRun }: Asked,
  signal: AbortSignal,
  report: (position: Position) => void,
): Promise<Replay> => {
  const topic = topics[name];
  const relayed = await readStore.position(RELAY_CHECKPOINT);
  const macs = new MessageMacs(edgeKey);
  const publisher = new BatchPublisher(
    publishingNow(messageBus, clock),
    messageBus.isPrivate ? undefined : macs,
    logger,
  );
  const genuine = (of: Topic) => new GenuineMessages(of, { macs, messageBus, readStore, eventStore, logger });
  const keptSince = topic.retentionMs === null ? -Infinity : clock.now() - topic.retentionMs;
  const counts = new Map<string, Replay['byKey'][number]>();
  const replay = { ...{ topic: topic.name, from, to, relayed }, events: 0, tooOld: 0, lost: 0, published: 0 };
  const region = { topic: name, from, to: Math.min(to, relayed), keptSince };
  try {
    for await (const piece of new LostEvents({ eventStore, messageBus, genuine }).find(region, signal)) {
      replay.events += piece.compared;
      replay.tooOld += piece.tooOld;
      replay.lost += piece.lost.length;
      for (const event of piece.lost) count(counts, event);
      if (!dryRun && piece.lost.length > 0) {
        await publisher.publish(piece.lost, signal);
        replay.published += piece.lost.length;
      }
      report(piece.position);
    }
  } catch (error) {
    if (!isAborted(signal)) throw error;
  }
  return { ...replay, byKey: [...counts.values()], interrupted: isAborted(signal) };
};

/** Stamps messages with the time of their publication. It is no part of what is signed. */
const publishingNow = (
  messageBus: Pick<MessageBus, 'publish'>,
  clock: Foundation['clock'],
): Pick<MessageBus, 'publish'> => ({
  publish: (topic, messages, signal) => {
    const now = clock.now();
    return messageBus.publish(
      topic,
      messages.map((message) => ({ ...message, timestamp: Math.max(now, message.timestamp) })),
      signal,
    );
  },
});

const count = (counts: Map<string, Replay['byKey'][number]>, event: StoredEvent): void => {
  const { type } = event;
  const key = keyOrStream(event);
  const id = `${key} ${type}`;
  const counted = counts.get(id) ?? { key, type, lost: 0 };
  counted.lost += 1;
  counts.set(id, counted);
};
