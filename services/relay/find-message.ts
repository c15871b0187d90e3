import { parkedTopics, topics, type Topic } from '../../schemas/topics.ts';
import type { Position, StoredEvent } from '../../shared/event-store/event-store.ts';
import type { BusMessage, MessageBus } from '../../shared/message-bus/message-bus.ts';
import { readRange } from '../../shared/message-bus/read-range.ts';
import { keyOrStream, publishedTypes, topicOf } from './publish-events/address-event.ts';
import { RELAY_CHECKPOINT } from './publish-events/checkpoint.ts';

export { RELAY_CHECKPOINT };

/** How many messages are read: those of other events between the time of an event and its own message. */
export const MESSAGES_READ_MAX = 5_000;

/** Where the message of an event is. */
export interface MessagePlace {
  topic: string;
  /** `waiting`: the relay has not come to the event. `not found`: lost, or deleted because the topic keeps none so old. */
  state: 'published' | 'parked' | 'waiting' | 'not found';
  partition: number | null;
  offset: string | null;
}

type Bus = Pick<MessageBus, 'offsets' | 'consume' | 'partitionOf'>;

/**
 * Finds the message of an event, among the first messages since its time.
 * @param relayed the relay has published up to here
 * @returns `undefined` for an event that is never published
 */
export const findMessage = async (
  messageBus: Bus,
  event: StoredEvent,
  relayed: Position,
  signal: AbortSignal,
): Promise<MessagePlace | undefined> => {
  if (!(publishedTypes as readonly string[]).includes(event.type)) return undefined;
  const name = topicOf(event);
  const nowhere = { topic: topics[name].name, partition: null, offset: null };
  if (event.position > relayed) return { ...nowhere, state: 'waiting' };
  for (const [state, topic] of [['published', topics[name]] as const, ['parked', parkedTopics[name]] as const]) {
    const found = await findIn(messageBus, topic, event, signal);
    if (found) return { topic: topic.name, state, partition: found.partition, offset: found.offset };
  }
  return { ...nowhere, state: 'not found' };
};

const findIn = async (
  messageBus: Bus,
  topic: Topic,
  event: StoredEvent,
  signal: AbortSignal,
): Promise<BusMessage | undefined> => {
  const partition = messageBus.partitionOf(topic, keyOrStream(event));
  const from = (await messageBus.offsets(topic, event.time)).get(partition) ?? '0';
  const until = (await messageBus.offsets(topic, 'latest')).get(partition) ?? '0';
  let read = 0;
  for await (const messages of readRange(messageBus, topic, { partition, from, until }, signal)) {
    const found = messages.find(({ headers }) => headers['ce_id'] === event.id);
    read += messages.length;
    if (found || read >= MESSAGES_READ_MAX) return found;
  }
  return undefined;
};
