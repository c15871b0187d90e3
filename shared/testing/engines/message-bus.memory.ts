import type { Partitioning } from '../../../schemas/announcements.ts';
import type { Topic } from '../../../schemas/topics.ts';
import { WakeUp } from '../../primitives/waiting/wake-up.ts';
import {
  type BusBatch,
  type BusMessage,
  type MessageBus,
  type MessageToPublish,
  type Offsets,
  type WhereToRead,
} from '../../message-bus/message-bus.ts';
import { refusalOfSize } from '../../message-bus/message-size.ts';
import { partitionOfKey } from '../../message-bus/partitioning.ts';
import { pollPartitions } from '../../message-bus/poll-partitions.ts';
import {
  partitionsDiffer,
  withTopicSettings,
  defaultTopicSettings,
  type TopicSettings,
} from '../../message-bus/topic-settings.ts';

const BATCH_MESSAGES_MAX = 1_000;

/** The message bus of tests and simulations. Keeps all messages. */
export class MemoryMessageBus implements MessageBus {
  private readonly partitions = new Map<string, BusMessage[][]>();
  private readonly published = new WakeUp();

  constructor(
    private readonly topicSettings: TopicSettings = defaultTopicSettings,
    /** Default: `false`, as for a broker. */
    readonly isPrivate = false,
  ) {}

  createTopics(topics: readonly Topic[]): Promise<void> {
    for (const topic of topics.map((one) => this.configured(one))) {
      const existing = this.partitions.get(topic.name);
      if (existing && existing.length !== topic.partitions) {
        return Promise.reject(partitionsDiffer(topic, existing.length));
      }
      if (!existing)
        this.partitions.set(
          topic.name,
          Array.from({ length: topic.partitions }, () => []),
        );
    }
    return Promise.resolve();
  }

  publish(topic: Topic, messages: readonly MessageToPublish[], signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    const refused = refusalOfSize(messages);
    if (refused) return Promise.reject(refused);
    for (const message of messages) {
      const partition = this.partitionOf(topic, message.key);
      const log = this.log(topic, partition);
      log.push({ ...message, partition, offset: String(log.length) });
    }
    this.published.ring();
    return Promise.resolve();
  }

  partitioning(topic: Topic): Partitioning {
    return { hash: 'crc32', partitions: this.configured(topic).partitions };
  }

  partitionOf(topic: Topic, key: string): number {
    return partitionOfKey(this.partitioning(topic), key);
  }

  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const offsets = new Map<number, string>();
    for (let partition = 0; partition < this.configured(topic).partitions; partition += 1) {
      const log = this.log(topic, partition);
      const found =
        typeof at === 'number' ? log.findIndex((message) => message.timestamp >= at) : at === 'earliest' ? 0 : -1;
      offsets.set(partition, String(found === -1 ? log.length : found));
    }
    return Promise.resolve(offsets);
  }

  async *consume(topic: Topic, from: WhereToRead, signal: AbortSignal): AsyncGenerator<BusBatch> {
    const read = (partition: number, offset: number) =>
      this.log(topic, partition).slice(offset, offset + BATCH_MESSAGES_MAX);
    const end = (partition: number) => this.log(topic, partition).length;
    yield* pollPartitions({ topicName: topic.name, from, end, read, more: this.published, signal });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private configured(topic: Topic): Topic {
    return withTopicSettings(topic, this.topicSettings);
  }

  private log(topic: Topic, partition: number): BusMessage[] {
    const { name } = this.configured(topic);
    const log = this.partitions.get(name)?.[partition];
    if (!log) throw new Error(`topic ${name} has no partition ${String(partition)}`);
    return log;
  }
}
