import { parkedTopics, topics } from '../../../schemas/topics.ts';
import type { StoredEvent } from '../../../shared/event-store/event-store.ts';
import { MessageRefused, type MessageBus, type MessageToPublish } from '../../../shared/message-bus/message-bus.ts';
import type { Logger } from 'pino';
import { keyOf, topicOf, type TopicName } from './address-event.ts';
import { toCloudEvent, toParked } from './cloud-event.ts';

interface Outgoing {
  event: StoredEvent;
  message: MessageToPublish;
}

interface Unpublishable {
  event: StoredEvent;
  key: string;
  reason: string;
}

/**
 * Publishes events in their order, by topic. One that can never be published is parked, with the reason, before what
 * follows it; the later events of its key go on.
 */
export class BatchPublisher {
  constructor(
    private readonly messageBus: MessageBus,
    private readonly logger: Logger,
  ) {}

  /** @throws the signal's reason once it aborts: what is under way may still be published, and nothing after it */
  async publish(events: readonly StoredEvent[], signal: AbortSignal): Promise<void> {
    for (const [name, outgoing] of await this.address(events, signal)) await this.publishIn(name, outgoing, signal);
  }

  private async address(events: readonly StoredEvent[], signal: AbortSignal): Promise<Map<TopicName, Outgoing[]>> {
    const byTopic = new Map<TopicName, Outgoing[]>();
    for (const event of events) {
      const name = topicOf(event);
      const message = await this.messageOf(event, name, signal);
      if (!message) continue;
      const ofTopic = byTopic.get(name);
      if (ofTopic) ofTopic.push({ event, message });
      else byTopic.set(name, [{ event, message }]);
    }
    return byTopic;
  }

  private async messageOf(
    event: StoredEvent,
    name: TopicName,
    signal: AbortSignal,
  ): Promise<MessageToPublish | undefined> {
    try {
      return toCloudEvent(event, keyOf(event));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      await this.park(name, { event, key: event.stream, reason }, signal);
      return undefined;
    }
  }

  private async publishIn(name: TopicName, outgoing: readonly Outgoing[], signal: AbortSignal): Promise<void> {
    let left = outgoing;
    while (left.length > 0) {
      try {
        await this.messageBus.publish(
          topics[name],
          left.map(({ message }) => message),
          signal,
        );
        return;
      } catch (error) {
        const refused = error instanceof MessageRefused ? left[error.index] : undefined;
        if (!(error instanceof MessageRefused) || !refused) throw error;
        const { event, message } = refused;
        await this.park(name, { event, key: message.key, reason: error.reason }, signal);
        left = left.filter((one) => one !== refused);
      }
    }
  }

  private async park(name: TopicName, { event, key, reason }: Unpublishable, signal: AbortSignal): Promise<void> {
    const parked = toParked(event, key, reason);
    this.logger.error(
      { eventId: event.id, position: event.position, topic: parkedTopics[name].name, reason },
      'an event cannot be published and is parked',
    );
    try {
      await this.messageBus.publish(parkedTopics[name], [parked], signal);
    } catch (error) {
      if (!(error instanceof MessageRefused)) throw error;
      await this.messageBus.publish(parkedTopics[name], [{ ...parked, value: null }], signal);
    }
  }
}
