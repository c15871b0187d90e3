import type { Topic } from '../../schemas/topics.ts';
import { CannotStart } from '../errors/cannot-start.ts';

/** What TOPIC_PREFIX and TOPIC_PARTITIONS say; every adapter applies it, so that callers name topics as the schemas do. */
export interface TopicSettings {
  prefix: string;
  /** By topic name without the prefix. */
  partitions: Readonly<Partial<Record<string, number>>>;
}

export const topicsAsTheyAre: TopicSettings = { prefix: '', partitions: {} };

/** The topic as the bus has it. */
export const withTopicSettings = ({ name, partitions, retentionMs }: Topic, settings: TopicSettings): Topic => ({
  name: settings.prefix + name,
  partitions: settings.partitions[name] ?? partitions,
  retentionMs,
});

export const partitionsDiffer = ({ name, partitions }: Topic, existing: number): CannotStart =>
  new CannotStart(
    `TOPIC_PARTITIONS: topic ${name} has ${String(existing)} partitions, not ${String(partitions)}, ` +
      'and another count would part the messages of a key',
  );
