import type { Partitioning } from '../../schemas/announcements.ts';
import type { Topic } from '../../schemas/topics.ts';
import type { FollowedPartitions } from './followed-partitions.ts';

export interface MessageToPublish {
  key: string;
  headers: Record<string, string>;
  /** UTF-8 text; JSON in messages of this program. Other producers may publish `null`. */
  value: string | null;
  /** Unix milliseconds of the event. */
  timestamp: number;
}

export interface BusMessage extends MessageToPublish {
  partition: number;
  /** A decimal integer as text; compare with BigInt. Offsets grow within a partition, with gaps. */
  offset: string;
}

/** Offset of the next message to read, by partition. */
export type Offsets = ReadonlyMap<number, string>;

/** Offsets; or partitions that may be added and removed while the bus reads. Of a removed one, nothing more is read. */
export type WhereToRead = Offsets | FollowedPartitions;

export interface BusBatch {
  partition: number;
  /** In offset order. */
  messages: BusMessage[];
}

/**
 * A message that can never be stored, e.g. because it is too large. Neither it nor later messages of its partition are
 * stored; earlier ones may have been.
 */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';
  constructor(
    /** The index of the message in the array to publish. */
    readonly index: number,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`message ${String(index)} cannot be stored: ${reason}`, options);
  }
}

/**
 * An offset is beyond the end of its partition: the topic was deleted and created again, or its newest messages were
 * lost. The consumer must query the offsets again and start from them.
 */
export class TopicReplaced extends Error {
  override readonly name = 'TopicReplaced';
  constructor(topicName: string, partition: number, offset: string) {
    super(`partition ${String(partition)} of ${topicName} ends before ${offset}: the topic was replaced`);
  }
}

export interface MessageBus {
  /** Whether only our own processes can write to the bus. On any other bus, messages may be forged. */
  readonly isPrivate: boolean;
  /**
   * Creates missing topics.
   * @throws CannotStart if a topic exists with another partition count, because its keys would move to other partitions
   */
  createTopics(topics: readonly Topic[]): Promise<void>;
  /**
   * Returns when all messages are stored. Messages of one key keep the order of the array and of successive calls.
   * @param signal once aborted, nothing more is sent; a request in progress may still be stored
   * @throws MessageRefused, Refusal `dependency_unavailable` if some may not be stored (publish all again), and the
   * signal's reason
   */
  publish(topic: Topic, messages: readonly MessageToPublish[], signal?: AbortSignal): Promise<void>;
  /** Returns the hash and partition count of a topic, which are fixed. */
  partitioning(topic: Topic): Partitioning;
  /** Returns the partition of a key. */
  partitionOf(topic: Topic, key: string): number;
  /**
   * Returns by partition: the first kept offset, the offset after the newest message, or the first offset whose
   * timestamp is not before a time (Unix ms; if there is none, as `latest`). For an empty partition, all three are the
   * same.
   */
  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets>;
  /**
   * Yields messages from these offsets on (of these partitions only), without end, until the signal aborts. Skips
   * messages that are no longer kept. Waits while the bus is down, then resumes.
   * @throws TopicReplaced, for a partition that has a message
   */
  consume(topic: Topic, from: WhereToRead, signal: AbortSignal): AsyncIterable<BusBatch>;
  close(): Promise<void>;
}
