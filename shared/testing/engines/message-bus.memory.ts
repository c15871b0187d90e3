import { crc32 } from 'node:zlib';
import type { Topic } from '../../schemas/topics.ts';
import { WakeUp } from '../primitives/wake-up.ts';
import {
  TopicReplaced,
  type BusBatch,
  type BusMessage,
  type MessageBus,
  type MessageToPublish,
  type Offsets,
} from './message-bus.ts';
import { refusalOfSize } from './message-size.ts';
import { pollPartitions } from './poll-partitions.ts';
import { partitionsDiffer, withTopicSettings, defaultTopicSettings, type TopicSettings } from './topic-settings.ts';

const BATCH_MESSAGES_MAX = 1_000;

/** The message bus of tests and simulations. It keeps all messages. */
export class MemoryMessageBus implements MessageBus {
  private readonly partitions = new Map<string, BusMessage[][]>();
  private readonly published = new WakeUp();

  constructor(
    private readonly topicSettings: TopicSettings = defaultTopicSettings,
    /** By default it stands for a broker. */
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

  partitionOf(topic: Topic, key: string): number {
    return crc32(key) % this.configured(topic).partitions;
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

  async *consume(topic: Topic, from: Offsets, signal: AbortSignal): AsyncGenerator<BusBatch> {
    for (const [partition, offset] of from) {
      if (Number(offset) > this.log(topic, partition).length) throw new TopicReplaced(topic.name, partition, offset);
    }
    const read = (partition: number, offset: number) =>
      this.log(topic, partition).slice(offset, offset + BATCH_MESSAGES_MAX);
    yield* pollPartitions({ from, read, more: this.published, signal });
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
