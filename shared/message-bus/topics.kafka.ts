import kafkajs, { type Admin } from 'kafkajs';
import type { Topic } from '../../schemas/topics.ts';
import { partitionsDiffer } from './topic-settings.ts';

/** What the cluster says is good enough: how many copies there are and must be is whoever runs it to decide. */
const CLUSTER_DEFAULT = -1;

/** @throws CannotStart when one exists with another partition count; nothing is ever changed of a topic that exists */
export const createTopics = async (admin: Admin, topics: readonly Topic[]): Promise<void> => {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter(({ name }) => !existing.has(name));
  if (missing.length > 0) {
    await admin.createTopics({
      topics: missing.map(({ name, partitions, retentionMs }) => ({
        topic: name,
        numPartitions: partitions,
        replicationFactor: CLUSTER_DEFAULT,
        configEntries:
          retentionMs === null
            ? [{ name: 'cleanup.policy', value: 'compact' }]
            : [
                { name: 'cleanup.policy', value: 'delete' },
                { name: 'retention.ms', value: String(retentionMs) },
              ],
      })),
    });
  }
  const { topics: found } = await admin.fetchTopicMetadata({ topics: topics.map(({ name }) => name) });
  for (const topic of topics) {
    const count = found.find(({ name }) => name === topic.name)?.partitions.length ?? 0;
    if (count !== topic.partitions) throw partitionsDiffer(topic, count);
  }
};

const partitionFor = kafkajs.Partitioners.DefaultPartitioner();

/** As Java's default partitioner has it, murmur2 of the key. It takes 2 µs. */
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
