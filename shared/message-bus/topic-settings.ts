import type { Topic } from '../../schemas/topics.ts';
import { CannotStart } from '../errors/cannot-start.ts';

/**
 * The values of TOPIC_PREFIX and TOPIC_PARTITIONS. Every adapter applies them, so that callers name topics as the
 * schemas do.
 */
export interface TopicSettings {
  prefix: string;
  /** By topic name without the prefix. */
  partitions: Readonly<Partial<Record<string, number>>>;
}

/** Leaves topics as the schemas define them. */
export const defaultTopicSettings: TopicSettings = { prefix: '', partitions: {} };

/** Returns the topic as the bus has it: with prefix and partition count. */
export const withTopicSettings = ({ name, partitions, retentionMs }: Topic, settings: TopicSettings): Topic => ({
  name: settings.prefix + name,
  partitions: settings.partitions[name] ?? partitions,
  retentionMs,
});

export const partitionsDiffer = ({ name, partitions }: Topic, existing: number): CannotStart =>
  new CannotStart(
    `TOPIC_PARTITIONS: topic ${name} has ${String(existing)} partitions, not ${String(partitions)}, ` +
      'and another count would split the messages of a key. Set it back, or use another TOPIC_PREFIX.',
  );
