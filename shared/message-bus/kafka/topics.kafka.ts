import type { Admin, IResourceConfigEntry } from 'kafkajs';
import type { Topic } from '../../../schemas/topics.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import { isRetriable } from './client/kafka-errors.kafka.ts';
import { partitionsDiffer } from '../topic-settings.ts';

/** Uses the cluster's default: the operator decides about the replication factor and `min.insync.replicas`. */
const CLUSTER_DEFAULT = -1;

const LOOKS_MAX = 50;
const LOOK_AGAIN_AFTER_MS = 100;

/**
 * Creates the topics that do not exist. An existing one is not changed.
 * @throws CannotStart when one exists with another partition count
 */
export const createTopics = async (admin: Admin, topics: readonly Topic[]): Promise<void> => {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter(({ name }) => !existing.has(name));
  if (missing.length > 0) {
    await admin.createTopics({
      waitForLeaders: false,
      topics: missing.map(({ name, partitions, retentionMs }) => ({
        topic: name,
        numPartitions: partitions,
        replicationFactor: CLUSTER_DEFAULT,
        configEntries: retention(retentionMs),
      })),
    });
  }
  const counts = await partitionCounts(
    admin,
    topics.map(({ name }) => name),
  );
  for (const topic of topics) {
    const count = counts.get(topic.name) ?? 0;
    if (count !== topic.partitions) throw partitionsDiffer(topic, count);
  }
};

const FOR_EVER = -1;
const retention = (retentionMs: number | null): IResourceConfigEntry[] => [
  { name: 'cleanup.policy', value: 'delete' },
  { name: 'retention.ms', value: String(retentionMs ?? FOR_EVER) },
];

/** Retries while a broker does not know a new topic, because the controller informs it a little later. */
const partitionCounts = async (admin: Admin, names: string[]): Promise<Map<string, number>> => {
  for (let looks = 1; ; looks += 1) {
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: names });
      return new Map(topics.map(({ name, partitions }) => [name, partitions.length]));
    } catch (error) {
      if (looks === LOOKS_MAX || !isRetriable(error)) throw error;
      await pause(LOOK_AGAIN_AFTER_MS);
    }
  }
};
