import kafkajs, { type Cluster, type Consumer } from 'kafkajs';
import { unavailable } from '../../errors/refusal.ts';
import type { Logger } from 'pino';
import { pause } from '../../primitives/waiting/pause.ts';
import { untilAborted } from '../../primitives/waiting/until-aborted.ts';
import { toBusMessage } from './bus-message.kafka.ts';
import { disconnectOrCut, type KafkaClient } from './client/kafka-client.kafka.ts';
import { isOffsetOutOfRange, isRetriable } from './client/kafka-errors.kafka.ts';
import { Batch, type FetchedPartition } from './client/kafkajs-internals.kafka.ts';
import { TopicReplaced, type BusBatch, type Offsets } from '../message-bus.ts';

const READ_COMMITTED = 1;
const ANSWER_MS = 10_000;
/**
 * Most reads want one message, so a read begins with one batch of the log, and fetches more each time as it continues.
 */
const FETCH_BYTES_FIRST = 4 * 1024;
const FETCH_BYTES_MAX = 512 * 1024;
const FETCH_FACTOR = 4;
/**
 * The pause at the end of a partition. A long poll at the broker is no alternative: it answers a connection's requests
 * in order.
 */
const POLL_INTERVAL_MS = 20;
const RETRY_DELAY_MS = 250;

interface Connected {
  client: KafkaClient;
  consumer: Consumer;
  cluster: Cluster;
  ready: Promise<void>;
}

interface PartitionOffset {
  topicName: string;
  partition: number;
  offset: string;
}

/**
 * Reads single partitions and queries offsets, without a consumer group: joining a group takes longer than most reads.
 * All reads share the sockets. After a failure, the reader connects again, with the brokers' newest addresses.
 */
export class PartitionReader {
  private current: Connected | undefined;
  private isClosed = false;

  constructor(
    private readonly newClient: () => KafkaClient,
    private readonly logger: Logger,
  ) {}

  async offsets(topicName: string, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    const deadline = AbortSignal.timeout(ANSWER_MS);
    for (;;) {
      const connected = this.connect();
      try {
        return await untilAborted(offsetsOf(connected, topicName, at), deadline);
      } catch (error) {
        this.drop(connected);
        const isOver = deadline.aborted || this.isClosed || !isRetriable(error);
        if (isOver) throw unavailable(`Kafka did not return the offsets of ${topicName}`, error);
        await pause(RETRY_DELAY_MS);
      }
    }
  }

  async *read(topicName: string, partition: number, from: string, signal: AbortSignal): AsyncGenerator<BusBatch> {
    const next: PartitionOffset = { topicName, partition, offset: from };
    for (
      let maxBytes = FETCH_BYTES_FIRST;
      !signal.aborted;
      maxBytes = Math.min(maxBytes * FETCH_FACTOR, FETCH_BYTES_MAX)
    ) {
      const batch = await this.fetch(next, maxBytes, signal);
      if (!batch) continue;
      if (batch.rawMessages.length > 0) next.offset = String(BigInt(batch.lastOffset()) + 1n);
      else await pause(POLL_INTERVAL_MS, signal);
      const messages = batch.messages.map((message) => toBusMessage(partition, message));
      if (messages.length > 0) yield { partition, messages };
    }
  }

  async close(): Promise<void> {
    const { current } = this;
    this.isClosed = true;
    this.current = undefined;
    if (current) await disconnectOrCut(current.client, () => current.consumer.disconnect());
  }

  /** @returns `undefined` if the caller should retry */
  private async fetch(next: PartitionOffset, maxBytes: number, signal: AbortSignal): Promise<Batch | undefined> {
    const connected = this.connect();
    try {
      return await untilAborted(fetchOf(connected, next, maxBytes), signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (isOffsetOutOfRange(error)) {
        next.offset = await this.nearest(next);
        return undefined;
      }
      this.drop(connected);
      if (!isRetriable(error)) throw error;
      this.logger.debug({ err: error, ...next }, 'reading a partition failed and is retried');
      await pause(RETRY_DELAY_MS, signal);
      return undefined;
    }
  }

  /** Returns where to continue when a partition does not have the offset. */
  private async nearest({ topicName, partition, offset }: PartitionOffset): Promise<string> {
    const earliest = (await this.offsets(topicName, 'earliest')).get(partition) ?? '0';
    if (BigInt(offset) <= BigInt(earliest)) return earliest;
    throw new TopicReplaced(topicName, partition, offset);
  }

  private connect(): Connected {
    if (this.current) return this.current;
    const client = this.newClient();
    const { consumer, cluster } = clusterOf(client);
    this.current = { client, consumer, cluster, ready: consumer.connect() };
    return this.current;
  }

  private drop(connected: Connected): void {
    connected.client.sockets.cut();
    if (this.current === connected) this.current = undefined;
  }
}

/** Returns kafkajs's cluster, which knows the partition leaders. kafkajs passes it only to a consumer's assigners. */
const clusterOf = ({ kafka }: KafkaClient): { consumer: Consumer; cluster: Cluster } => {
  const clusters: Cluster[] = [];
  const consumer = kafka.consumer({
    groupId: 'none',
    allowAutoTopicCreation: false,
    partitionAssigners: [
      (config) => {
        clusters.push(config.cluster);
        return kafkajs.PartitionAssigners.roundRobin(config);
      },
    ],
  });
  const [cluster] = clusters;
  if (!cluster) throw new Error('kafkajs did not pass its cluster');
  return { consumer, cluster };
};

const offsetsOf = async (
  { ready, cluster }: Connected,
  topicName: string,
  at: 'earliest' | 'latest' | number,
): Promise<Offsets> => {
  await ready;
  await cluster.addTargetTopic(topicName);
  await cluster.refreshMetadataIfNecessary();
  const partitions = cluster
    .findTopicPartitionMetadata(topicName)
    .map(({ partitionId }) => ({ partition: partitionId }));
  const ask = async (where: { fromBeginning: boolean } | { fromTimestamp: number }): Promise<Map<number, string>> => {
    const [answer] = await cluster.fetchTopicsOffset([{ topic: topicName, partitions, ...where }]);
    return new Map(answer?.partitions.map(({ partition, offset }) => [partition, offset]));
  };
  if (typeof at !== 'number') return ask({ fromBeginning: at === 'earliest' });
  // Queries the ends first, so that messages published between the two queries come after them.
  const ends = await ask({ fromBeginning: false });
  const found = await ask({ fromTimestamp: at });
  return new Map(Array.from(ends, ([partition, end]) => [partition, offsetOr(end, found.get(partition))]));
};

/** Kafka returns −1 if it finds no offset. */
const offsetOr = (end: string, found = '-1'): string => (found === '-1' ? end : found);

const fetchOf = async (
  { ready, cluster }: Connected,
  { topicName, partition, offset }: PartitionOffset,
  maxBytes: number,
): Promise<Batch> => {
  await ready;
  await cluster.addTargetTopic(topicName);
  await cluster.refreshMetadataIfNecessary();
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topicName, [partition]));
  if (nodeId === undefined) throw new Error(`topic ${topicName} has no partition ${String(partition)}`);
  const broker = await cluster.findBroker({ nodeId });
  // kafkajs has no type for this answer.
  const { responses } = (await broker.fetch({
    isolationLevel: READ_COMMITTED,
    maxWaitTime: 0,
    maxBytes,
    topics: [{ topic: topicName, partitions: [{ partition, fetchOffset: offset, maxBytes }] }],
  })) as { responses: { partitions: FetchedPartition[] }[] };
  const answer = responses[0]?.partitions[0];
  return new Batch(topicName, offset, answer ?? { partition, highWatermark: offset, messages: [] });
};
