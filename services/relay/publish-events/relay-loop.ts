import { topics, type Topic } from '../../../schemas/topics.ts';
import type { EventStore, StoredEvent } from '../../../shared/event-store/event-store.ts';
import { SupervisedLoop } from '../../../shared/lifecycle/supervised-loop.ts';
import type { MessageBus, MessageToPublish } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from '../../../shared/observability/logger.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { addressOf, publishedTypes } from './address-event.ts';
import { toCloudEvent } from './cloud-event.ts';

/** Name of the relay's checkpoint in the read store. */
export const RELAY_CHECKPOINT = 'relay-v1';

/**
 * Publishes the event store's events in position order, one batch at a time. The checkpoint follows the publishing, so a
 * crash between the two publishes the batch again: at least once, the same `ce_id`.
 */
export const relayLoop = ({
  eventStore,
  messageBus,
  readStore,
  logger,
}: {
  eventStore: EventStore;
  messageBus: MessageBus;
  readStore: ReadStore;
  logger: Logger;
}): SupervisedLoop =>
  new SupervisedLoop('relay', logger, async (signal, working) => {
    await messageBus.createTopics(Object.values(topics));
    const checkpoint = await readStore.position(RELAY_CHECKPOINT);
    for await (const { events, position } of eventStore.subscribeAll(checkpoint, { types: publishedTypes }, signal)) {
      for (const [topic, messages] of byTopic(events)) await messageBus.publish(topic, messages);
      await readStore.apply(RELAY_CHECKPOINT, [], position);
      working();
    }
  });

const byTopic = (events: readonly StoredEvent[]): Map<Topic, MessageToPublish[]> => {
  const messages = new Map<Topic, MessageToPublish[]>();
  for (const event of events) {
    const { topic, key } = addressOf(event);
    const ofTopic = messages.get(topic);
    const message = toCloudEvent(event, key);
    if (ofTopic) ofTopic.push(message);
    else messages.set(topic, [message]);
  }
  return messages;
};
