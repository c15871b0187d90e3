import { parkedTopics, topics, type Topic } from '../../../schemas/topics.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import type { MessageMacs } from '../../../shared/message-bus/genuine/message-macs.ts';
import { MessageRefused, type MessageBus, type MessageToPublish } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from 'pino';
import { keyOf, topicOf, type TopicName } from './address-event.ts';
import { toCloudEvent, toParked } from './cloud-event.ts';

interface AddressedMessage {
  event: StoredEvent;
  message: MessageToPublish;
}

interface Unpublishable {
  event: StoredEvent;
  key: string;
  reason: string;
}

/**
 * Publishes the events of a batch, one topic after the other, in position order within a topic. An event that can never
 * be published goes to the topic's `.parked` topic, with the reason; later events of its key are still published.
 */
export class BatchPublisher {
  constructor(
    private readonly messageBus: Pick<MessageBus, 'publish'>,
    /** Without macs, messages are not signed: nobody else can write to the bus. */
    private readonly macs: MessageMacs | undefined,
    private readonly logger: Logger,
  ) {}

  /**
   * @throws the signal's reason once it aborts: a request in flight may still succeed, and no further request is sent
   */
  async publish(events: readonly StoredEvent[], signal: AbortSignal): Promise<void> {
    for (const [topic, messages] of await this.groupByTopic(events, signal))
      await this.publishTo(topic, messages, signal);
  }

  private async groupByTopic(
    events: readonly StoredEvent[],
    signal: AbortSignal,
  ): Promise<Map<TopicName, AddressedMessage[]>> {
    const byTopic = new Map<TopicName, AddressedMessage[]>();
    for (const event of events) {
      const topic = topicOf(event);
      const message = await this.messageOrPark(event, topic, signal);
      if (!message) continue;
      const messages = byTopic.get(topic);
      if (messages) messages.push({ event, message });
      else byTopic.set(topic, [{ event, message }]);
    }
    return byTopic;
  }

  private async messageOrPark(
    event: StoredEvent,
    topic: TopicName,
    signal: AbortSignal,
  ): Promise<MessageToPublish | undefined> {
    try {
      return this.signed(topics[topic], toCloudEvent(event, keyOf(event)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // The key cannot be determined, so the stream's name replaces it.
      await this.park(topic, { event, key: event.stream, reason }, signal);
      return undefined;
    }
  }

  private async publishTo(topic: TopicName, messages: readonly AddressedMessage[], signal: AbortSignal): Promise<void> {
    let remaining = messages;
    while (remaining.length > 0) {
      try {
        await this.messageBus.publish(
          topics[topic],
          remaining.map(({ message }) => message),
          signal,
        );
        return;
      } catch (error) {
        const refused = error instanceof MessageRefused ? remaining[error.index] : undefined;
        if (!(error instanceof MessageRefused) || !refused) throw error;
        const { event, message } = refused;
        await this.park(topic, { event, key: message.key, reason: error.reason }, signal);
        remaining = remaining.filter((one) => one !== refused);
      }
    }
  }

  private async park(topic: TopicName, { event, key, reason }: Unpublishable, signal: AbortSignal): Promise<void> {
    const parked = this.signed(parkedTopics[topic], toParked(event, key, reason));
    this.logger.error(
      { eventId: event.id, position: event.position, topic: parkedTopics[topic].name, reason },
      'an event cannot be published and is parked',
    );
    try {
      await this.messageBus.publish(parkedTopics[topic], [parked], signal);
    } catch (error) {
      if (!(error instanceof MessageRefused)) throw error;
      // Too large to be parked with its data; the headers identify the event.
      const headed = this.signed(parkedTopics[topic], { ...parked, value: null });
      await this.messageBus.publish(parkedTopics[topic], [headed], signal);
    }
  }

  private signed(topic: Topic, message: MessageToPublish): MessageToPublish {
    return this.macs?.sign(topic, message) ?? message;
  }
}
