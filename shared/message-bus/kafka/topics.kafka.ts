import kafkajs, { type Admin, type IResourceConfigEntry } from 'kafkajs';
import type { Topic } from '../../schemas/topics.ts';
import { pause } from '../primitives/pause.ts';
import { isRetriable } from './kafka-errors.kafka.ts';
import { partitionsDiffer } from './topic-settings.ts';

/** Uses the cluster's default: the replication factor and `min.insync.replicas` are the operator's decision. */
const CLUSTER_DEFAULT = -1;

/** The source of a setting that was made for the topic itself. */
const TOPIC_CONFIG = kafkajs.ConfigSource.TOPIC_CONFIG;

const LOOKS_MAX = 50;
const LOOK_AGAIN_AFTER_MS = 100;

/**
 * Creates the topics that do not exist. An existing one is changed only if it is compacted: a compacted topic loses
 * messages that consumers rely on.
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
    if (topic.retentionMs === null) await keepForEver(admin, topic);
  }
};

const FOR_EVER = -1;
const retention = (retentionMs: number | null): IResourceConfigEntry[] => [
  { name: 'cleanup.policy', value: 'delete' },
  { name: 'retention.ms', value: String(retentionMs ?? FOR_EVER) },
];

/** Changes a topic that was created compacted. Its other settings are sent again, because Kafka forgets those left out. */
const keepForEver = async (admin: Admin, { name }: Topic): Promise<void> => {
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({ resources: [{ type, name }], includeSynonyms: false });
  const own = (resources[0]?.configEntries ?? []).filter(({ configSource }) => configSource === TOPIC_CONFIG);
  if (!own.some(({ configName, configValue }) => configName === 'cleanup.policy' && configValue.includes('compact')))
    return;
  const settings = new Map(own.map(({ configName, configValue }) => [configName, configValue]));
  for (const entry of retention(null)) settings.set(entry.name, entry.value);
  const configEntries = Array.from(settings, ([entry, value]) => ({ name: entry, value }));
  await admin.alterConfigs({ validateOnly: false, resources: [{ type, name, configEntries }] });
};

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

const partitionFor = kafkajs.Partitioners.DefaultPartitioner();

/** Computes murmur2 of the key, as Java's default partitioner does. It takes 2 µs. */
export const partitionOfKey = ({ name, partitions }: Topic, key: string): number =>
  partitionFor({
    topic: name,
    partitionMetadata: Array.from({ length: partitions }, (_, partitionId) => ({
      partitionId,
      partitionErrorCode: 0,
      leader: 0,
      replicas: [],
      isr: [],
    })),
    message: { key, value: null },
  });
