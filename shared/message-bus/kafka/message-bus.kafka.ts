import type { Admin } from 'kafkajs';
import type { Partitioning } from '../../../schemas/announcements.ts';
import type { Topic } from '../../../schemas/topics.ts';
import type { Settings } from '../../config/settings.ts';
import { CannotStart, DoesNotAnswer } from '../../errors/cannot-start.ts';
import { unavailable } from '../../errors/refusal.ts';
import type { Logger } from 'pino';
import { untilAborted } from '../../primitives/waiting/until-aborted.ts';
import { kafkaClients, disconnectOrCut, type KafkaClient, type KafkaSettings } from './client/kafka-client.kafka.ts';
import { isLoginRefused, reasonOf } from './client/kafka-errors.kafka.ts';
import { followed, FollowedPartitions } from '../followed-partitions.ts';
import type { BusBatch, MessageBus, MessageToPublish, Offsets, WhereToRead } from '../message-bus.ts';
import { partitionOfKey } from '../partitioning.ts';
import { messageBytes, refusalOfSize } from '../message-size.ts';
import { PartitionReader } from './partition-reader.kafka.ts';
import { Publisher } from './publisher.kafka.ts';
import { TopicFollower } from './topic-follower.kafka.ts';
import { withTopicSettings, type TopicSettings } from '../topic-settings.ts';
import { createTopics } from './topics.kafka.ts';

const START_MS = 10_000;
const ADMIN_MS = 10_000;

interface Options {
  settings: KafkaSettings & Pick<Settings, 'KAFKA_ACKS' | 'KAFKA_COMPRESSION' | 'TOPIC_PREFIX' | 'TOPIC_PARTITIONS'>;
  logger: Logger;
}

/** The message bus on Kafka. Topics, partitions, offsets and retention are Kafka's own. */
export class KafkaMessageBus implements MessageBus {
  readonly isPrivate = false;
  private readonly newAdminClient: () => KafkaClient;
  private readonly topicSettings: TopicSettings;
  private readonly publisher: Publisher;
  private readonly reader: PartitionReader;
  private readonly follower: TopicFollower;
  private readonly closing = new AbortController();

  private constructor({ settings, logger }: Options) {
    const newClient = kafkaClients(settings, logger);
    // Only the start uses an admin client, and it reports failures itself.
    const isDebug = logger.isLevelEnabled('debug');
    this.newAdminClient = isDebug ? newClient : kafkaClients(settings, logger.child({}, { level: 'silent' }));
    this.topicSettings = { prefix: settings.TOPIC_PREFIX, partitions: settings.TOPIC_PARTITIONS };
    this.publisher = new Publisher(newClient, settings);
    this.reader = new PartitionReader(newClient, logger);
    this.follower = new TopicFollower(newClient, logger);
  }

  /** @throws CannotStart if no broker answers within 10 s, or a broker refuses us */
  static async connect(options: Options): Promise<KafkaMessageBus> {
    const bus = new KafkaMessageBus(options);
    try {
      await bus.withAdmin(START_MS, (admin) => admin.describeCluster());
      return bus;
    } catch (cause) {
      throw cannotStart(options.settings, cause);
    }
  }

  async createTopics(topics: readonly Topic[]): Promise<void> {
    const configured = topics.map((topic) => this.configured(topic));
    try {
      await this.withAdmin(ADMIN_MS, (admin) => createTopics(admin, configured));
    } catch (error) {
      if (error instanceof CannotStart) throw error;
      throw unavailable(`Kafka did not create the topics (${reasonOf(error)})`, error);
    }
  }

  async publish(topic: Topic, messages: readonly MessageToPublish[], signal?: AbortSignal): Promise<void> {
    const configured = this.configured(topic);
    const partitioning = this.partitioning(topic);
    const partitions = new Map<string, number>();
    const routed = messages.map((message, index) => {
      const partition = partitions.get(message.key) ?? partitionOfKey(partitioning, message.key);
      partitions.set(message.key, partition);
      return { message, index, partition, bytes: messageBytes(message) };
    });
    const refused = refusalOfSize(messages);
    if (refused) throw refused;
    await this.publisher.publish(configured.name, routed, signal);
  }

  partitioning(topic: Topic): Partitioning {
    return { hash: 'murmur2', partitions: this.configured(topic).partitions };
  }

  partitionOf(topic: Topic, key: string): number {
    return partitionOfKey(this.partitioning(topic), key);
  }

  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets> {
    return this.reader.offsets(this.configured(topic).name, at);
  }

  /**
   * Reads a single partition without a group, because that is usually a short read to resume. Follows several
   * partitions, and those that may change, in a group.
   */
  consume(topic: Topic, from: WhereToRead, signal: AbortSignal): AsyncIterable<BusBatch> {
    const { name } = this.configured(topic);
    const ending = AbortSignal.any([signal, this.closing.signal]);
    const [[partition, offset] = [], ...others] = from instanceof FollowedPartitions ? [] : from;
    return partition !== undefined && offset !== undefined && others.length === 0
      ? this.reader.read(name, partition, offset, ending)
      : this.follower.follow({ topicName: name, from: followed(from), signal: ending });
  }

  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([this.publisher.close(), this.reader.close(), this.follower.close()]);
  }

  private configured(topic: Topic): Topic {
    return withTopicSettings(topic, this.topicSettings);
  }

  private async withAdmin<Answer>(withinMs: number, ask: (admin: Admin) => Promise<Answer>): Promise<Answer> {
    const client = this.newAdminClient();
    const admin = client.kafka.admin();
    const late = AbortSignal.timeout(withinMs);
    const asking = admin.connect().then(() => ask(admin));
    try {
      return await untilAborted(asking, late);
    } catch (cause) {
      throw late.aborted ? new Error(`nothing within ${String(withinMs)} ms`, { cause }) : cause;
    } finally {
      await disconnectOrCut(client, () => admin.disconnect());
    }
  }
}

const cannotStart = ({ KAFKA_BROKERS, KAFKA_SASL, KAFKA_TLS }: KafkaSettings, cause: unknown): unknown => {
  if (cause instanceof CannotStart) return cause;
  const where = KAFKA_BROKERS.join(', ');
  const reason = reasonOf(cause);
  if (KAFKA_SASL && (isLoginRefused(cause) || /sasl/i.test(reason))) {
    return new CannotStart(`KAFKA_SASL: ${where} refuses the login of ${KAFKA_SASL.username} (${reason})`, { cause });
  }
  if (KAFKA_TLS !== undefined && /certificate|ssl|tls/i.test(reason)) {
    return new CannotStart(`KAFKA_TLS: ${where} and this setting do not match (${reason})`, { cause });
  }
  return new DoesNotAnswer(`KAFKA_BROKERS: no Kafka answers at ${where} (${reason})`, { cause });
};
