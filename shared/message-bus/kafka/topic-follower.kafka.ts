import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, KafkaMessage } from 'kafkajs';
import type { Logger } from 'pino';
import { inTime } from '../primitives/in-time.ts';
import { LogThrottle } from '../primitives/log-throttle.ts';
import { pause } from '../primitives/pause.ts';
import { toBusMessage } from './bus-message.kafka.ts';
import { SynchronousQueue } from './synchronous-queue.ts';
import { disconnectOrCut, type KafkaClient } from './kafka-client.kafka.ts';
import { isRetriable } from './kafka-errors.kafka.ts';
import { TopicReplaced, type BusBatch, type Offsets } from './message-bus.ts';

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
  from: Offsets;
  signal: AbortSignal;
}

/**
 * Follows partitions of a topic with a kafkajs consumer in a group of its own, which commits nothing: each follower
 * reads all its partitions itself, and keeps its offsets in memory. A consumer that ends is replaced by a new one.
 */
export class TopicFollower {
  private readonly consumers = new Set<GroupConsumer>();

  constructor(
    private readonly newClient: () => KafkaClient,
    private readonly logger: Logger,
  ) {}

  async *follow({ topicName, from, signal }: Follow): AsyncGenerator<BusBatch> {
    const next = new Map(from);
    const reported = new LogThrottle();
    while (!signal.aborted) {
      const consumer = new GroupConsumer(this.newClient(), topicName, next);
      this.consumers.add(consumer);
      try {
        consumer.start();
        for (let batch = await consumer.batches.take(signal); batch; batch = await consumer.batches.take(signal)) {
          const last = batch.messages.at(-1);
          if (last) next.set(batch.partition, String(BigInt(last.offset) + 1n));
          yield batch;
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
  readonly batches = new SynchronousQueue<BusBatch>();
  private readonly groupId = `annals-${randomUUID()}`;
  private readonly consumer: Consumer;
  private ending: Promise<void> | undefined;
  private started: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: KafkaClient,
    private readonly topicName: string,
    private readonly next: Offsets,
  ) {
    this.consumer = client.kafka.consumer({
      groupId: this.groupId,
      allowAutoTopicCreation: false,
      sessionTimeout: SESSION_TIMEOUT_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: MAX_WAIT_MS,
      maxBytesPerPartition: PARTITION_BYTES_MAX,
      maxBytes: FETCH_BYTES_MAX,
      // After a crash kafkajs would resume at the group's offsets, and there are none.
      retry: { restartOnFailure: () => Promise.resolve(false) },
    });
  }

  start(): void {
    const { consumer, batches } = this;
    const { GROUP_JOIN, CRASH, STOP } = consumer.events;
    consumer.on(GROUP_JOIN, ({ payload }) => this.seek(payload.memberAssignment[this.topicName] ?? []));
    consumer.on(CRASH, ({ payload }) => batches.fail(payload.error));
    consumer.on(STOP, () => {
      setTimeout(() => batches.fail(new Error('the consumer stopped')), CRASH_AFTER_STOP_MS).unref();
    });
    this.started = this.run().catch((error: unknown) => {
      batches.fail(error instanceof Error ? error : new Error(String(error)));
    });
  }

  end(): Promise<void> {
    this.batches.end();
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

  /** Seeks to our offsets: kafkajs forgets them each time it joins the group. */
  private seek(assigned: readonly number[]): void {
    const topic = this.topicName;
    for (const [partition, offset] of this.next) this.consumer.seek({ topic, partition, offset });
    const others = assigned.filter((partition) => !this.next.has(partition));
    if (others.length > 0) this.consumer.pause([{ topic, partitions: others }]);
  }

  private async take(payload: EachBatchPayload): Promise<void> {
    const { partition, messages, highWatermark } = payload.batch;
    const next = BigInt(this.next.get(partition) ?? 0);
    if (BigInt(highWatermark) < next) {
      this.batches.fail(new TopicReplaced(this.topicName, partition, String(next)));
      return;
    }
    const isOver = () => this.hasEnded || !payload.isRunning() || payload.isStale();
    for (const chunk of chunksOf(messages.filter(({ offset }) => BigInt(offset) >= next))) {
      if (isOver()) return;
      const given = this.batches.put({ partition, messages: chunk.map((one) => toBusMessage(partition, one)) });
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
   * Deletes the group, to which no consumer will return. A consumer that is still joining cannot leave before it has
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
