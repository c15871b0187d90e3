import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, KafkaMessage } from 'kafkajs';
import type { Logger } from 'pino';
import { inTime } from '../../primitives/waiting/in-time.ts';
import { LogThrottle } from '../../primitives/log-throttle.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import { toBusMessage } from './bus-message.kafka.ts';
import { SynchronousQueue } from './synchronous-queue.ts';
import { disconnectOrCut, type KafkaClient } from './client/kafka-client.kafka.ts';
import { isRetriable } from './client/kafka-errors.kafka.ts';
import type { FollowedPartition, FollowedPartitions } from '../followed-partitions.ts';
import { TopicReplaced, type BusBatch, type BusMessage } from '../message-bus.ts';

const CHUNK_MESSAGES = 1_000;
const HEARTBEAT_MS = 3_000;
const SESSION_TIMEOUT_MS = 10_000;
const MAX_WAIT_MS = 100;
const PARTITION_BYTES_MAX = 512 * 1024;
const FETCH_BYTES_MAX = 4 * 1024 * 1024;
const RESTART_DELAY_MS = 250;
/** kafkajs emits STOP before the CRASH that caused it. */
const CRASH_AFTER_STOP_MS = 1_000;

interface Follow {
  topicName: string;
  from: FollowedPartitions;
  signal: AbortSignal;
}

interface Fetched {
  followed: FollowedPartition;
  messages: BusMessage[];
}

/**
 * Follows partitions of a topic with a kafkajs consumer in a group of its own, which commits nothing: each follower
 * reads all its partitions itself and keeps its offsets in memory. Partitions that it does not follow are paused, so
 * that another one can be followed without joining again. Replaces a consumer that ends.
 */
export class TopicFollower {
  private readonly consumers = new Set<GroupConsumer>();

  constructor(
    private readonly newClient: () => KafkaClient,
    private readonly logger: Logger,
  ) {}

  async *follow({ topicName, from, signal }: Follow): AsyncGenerator<BusBatch> {
    const reported = new LogThrottle();
    while (!signal.aborted) {
      const consumer = new GroupConsumer(this.newClient(), topicName, from);
      this.consumers.add(consumer);
      try {
        consumer.start();
        const take = () => consumer.batches.take(signal);
        for (let batch = await take(); batch; batch = await take()) {
          const { followed, messages } = batch;
          // It was removed while the batch waited.
          if (from.get(followed.partition) !== followed) continue;
          yield { partition: followed.partition, messages };
          const last = messages.at(-1);
          if (last) followed.offset = String(BigInt(last.offset) + 1n);
        }
      } catch (error) {
        if (!isRetriable(error)) throw error;
        const message = 'the consumer of a topic ended and is replaced';
        this.logger[reported.isDue(message) ? 'warn' : 'debug']({ err: error, topic: topicName }, message);
        await pause(RESTART_DELAY_MS, signal);
      } finally {
        void consumer.end().finally(() => this.consumers.delete(consumer));
      }
    }
  }

  /** Returns when all consumers are disconnected. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.consumers, (consumer) => consumer.end()));
  }
}

/** One consumer, from its first join to its end. */
class GroupConsumer {
  readonly batches = new SynchronousQueue<Fetched>();
  private readonly groupId = `annals-${randomUUID()}`;
  private readonly consumer: Consumer;
  private ending: Promise<void> | undefined;
  private started: Promise<void> = Promise.resolve();
  private assigned: readonly number[] = [];
  /** What kafkajs was told to read. */
  private readonly sought = new Map<number, FollowedPartition>();
  private readonly leaving = new AbortController();

  constructor(
    private readonly client: KafkaClient,
    private readonly topicName: string,
    private readonly from: FollowedPartitions,
  ) {
    this.consumer = client.kafka.consumer({
      groupId: this.groupId,
      allowAutoTopicCreation: false,
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: MAX_WAIT_MS,
      maxBytesPerPartition: PARTITION_BYTES_MAX,
      maxBytes: FETCH_BYTES_MAX,
      // After a crash, kafkajs would resume at the group's committed offsets, and there are none.
      retry: { restartOnFailure: () => Promise.resolve(false) },
    });
  }

  start(): void {
    const { consumer, batches } = this;
    const { GROUP_JOIN, CRASH, STOP } = consumer.events;
    consumer.on(GROUP_JOIN, ({ payload }) => this.joined(payload.memberAssignment[this.topicName] ?? []));
    consumer.on(CRASH, ({ payload }) => batches.fail(payload.error));
    consumer.on(STOP, () => {
      setTimeout(() => batches.fail(new Error('the consumer stopped')), CRASH_AFTER_STOP_MS).unref();
    });
    const fail = (error: unknown) => {
      batches.fail(error instanceof Error ? error : new Error(String(error)));
    };
    void this.seekChanges().catch(fail);
    this.started = this.run().catch(fail);
  }

  end(): Promise<void> {
    this.batches.end();
    this.leaving.abort();
    this.ending ??= disconnectOrCut(this.client, () => this.leave());
    return this.ending;
  }

  private get hasEnded(): boolean {
    return this.ending !== undefined;
  }

  private async run(): Promise<void> {
    await this.consumer.connect();
    await this.consumer.subscribe({ topics: [this.topicName], fromBeginning: true });
    await this.consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => this.take(payload),
    });
  }

  /** Seeks to our offsets, which kafkajs forgets each time it joins the group. */
  private joined(assigned: readonly number[]): void {
    this.assigned = assigned;
    this.sought.clear();
    this.seek();
    this.from.readingBegins();
  }

  private async seekChanges(): Promise<void> {
    const { signal } = this.leaving;
    const { changes } = this.from;
    for (let seen = changes.rung; !signal.aborted; seen = changes.rung) {
      this.seek();
      await changes.wait(seen, signal);
    }
  }

  private seek(): void {
    const { topicName: topic, assigned, from, sought, consumer } = this;
    const others = assigned.filter((partition) => !from.get(partition));
    if (others.length > 0) consumer.pause([{ topic, partitions: others }]);
    for (const partition of assigned) {
      const followed = from.get(partition);
      if (!followed || followed === sought.get(partition)) continue;
      sought.set(partition, followed);
      consumer.seek({ topic, partition, offset: followed.offset });
      consumer.resume([{ topic, partitions: [partition] }]);
    }
  }

  private async take(payload: EachBatchPayload): Promise<void> {
    const { partition, messages, highWatermark } = payload.batch;
    const followed = this.from.get(partition);
    if (!followed) return;
    const next = BigInt(followed.offset);
    if (BigInt(highWatermark) < next) {
      this.batches.fail(new TopicReplaced(this.topicName, partition, String(next)));
      return;
    }
    const isFollowed = () => this.from.get(partition) === followed;
    const isOver = () => this.hasEnded || !isFollowed() || !payload.isRunning() || payload.isStale();
    for (const chunk of chunksOf(messages.filter(({ offset }) => BigInt(offset) >= next))) {
      if (isOver()) return;
      const given = this.batches.put({ followed, messages: chunk.map((one) => toBusMessage(partition, one)) });
      await this.beatUntil(given, () => payload.heartbeat());
    }
    const last = messages.at(-1);
    if (last && !isOver()) payload.resolveOffset(last.offset);
  }

  /** Sends heartbeats while a batch is handled, however long that takes. */
  private async beatUntil(given: Promise<void>, heartbeat: () => Promise<void>): Promise<void> {
    const through = given.then(() => true);
    for (let isThrough = false; !isThrough;) {
      isThrough = (await inTime(() => through, HEARTBEAT_MS)) ?? false;
      if (!this.hasEnded) await heartbeat();
    }
  }

  /**
   * Deletes the group, which no consumer will join again. A consumer that is still joining cannot leave before it has
   * joined.
   */
  private async leave(): Promise<void> {
    await this.started;
    await this.consumer.disconnect();
    const admin = this.client.kafka.admin();
    await admin.connect();
    await admin.deleteGroups([this.groupId]);
    await admin.disconnect();
  }
}

const chunksOf = function* (messages: readonly KafkaMessage[]): Generator<KafkaMessage[]> {
  for (let at = 0; at < messages.length; at += CHUNK_MESSAGES) yield messages.slice(at, at + CHUNK_MESSAGES);
};
