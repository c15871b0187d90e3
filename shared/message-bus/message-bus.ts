import type { Topic } from '../../schemas/topics.ts';

export interface MessageToPublish {
  key: string;
  headers: Record<string, string>;
  /** UTF-8 text; here always JSON. Other producers may publish `null`. */
  value: string | null;
  /** Unix milliseconds: the event's time. */
  timestamp: number;
}

export interface BusMessage extends MessageToPublish {
  partition: number;
  /** A decimal integer, as text; compare with BigInt. It grows within a partition and is not gapless. */
  offset: string;
}

/** The offset of the next message to give, by partition. */
export type Offsets = ReadonlyMap<number, string>;

export interface BusBatch {
  partition: number;
  /** In offset order. */
  messages: BusMessage[];
}

/**
 * A message that can never be stored, e.g. because it is too large. It and the messages after it in its partition are
 * not stored; the messages before it may have been.
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
 * lost. The consumer must query the offsets again, and begin there.
 */
export class TopicReplaced extends Error {
  override readonly name = 'TopicReplaced';
  constructor(topicName: string, partition: number, offset: string) {
    super(`partition ${String(partition)} of ${topicName} ends before ${offset}: the topic was replaced`);
  }
}

export interface MessageBus {
  /** Whether only our own processes can write to it. Messages of any other bus may be forged. */
  readonly isPrivate: boolean;
  /**
   * Creates the topics that do not exist.
   * @throws CannotStart when a topic exists with another partition count: its keys would change their partitions
   */
  createTopics(topics: readonly Topic[]): Promise<void>;
  /**
   * Returns when all messages are stored. Messages of one key keep the order of the array and of successive calls.
   * @param signal once it aborts, nothing more is sent; a request in progress may still be stored
   * @throws MessageRefused, Refusal `dependency_unavailable` when some may not be stored (publish all again), and the
   * signal's reason
   */
  publish(topic: Topic, messages: readonly MessageToPublish[], signal?: AbortSignal): Promise<void>;
  /** Returns the partition of a key, which never changes. */
  partitionOf(topic: Topic, key: string): number;
  /**
   * Returns by partition: the first kept offset, the one after the newest message, or the first whose timestamp is not
   * before a time (Unix ms; when there is none, as `latest`). In an empty partition all are the same.
   */
  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets>;
  /**
   * Yields messages from these offsets on (only of these partitions), without end, until the signal aborts. Messages
   * that are no longer kept are skipped. While the bus is away it waits; afterwards it resumes where it was.
   * @throws TopicReplaced, of a partition that has a message
   */
  consume(topic: Topic, from: Offsets, signal: AbortSignal): AsyncIterable<BusBatch>;
  close(): Promise<void>;
}
