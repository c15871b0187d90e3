import type { Topic } from '../../schemas/topics.ts';

export interface MessageToPublish {
  key: string;
  headers: Record<string, string>;
  /** UTF-8 text; JSON here. `null` removes the key from a compacted topic. */
  value: string | null;
  /** Unix milliseconds: the event's time. */
  timestamp: number;
}

export interface BusMessage extends MessageToPublish {
  partition: number;
  /** A decimal integer, as text; compare with BigInt. Grows within a partition, not gapless. */
  offset: string;
}

/** Offset of the next message to give, by partition. */
export type Offsets = ReadonlyMap<number, string>;

export interface BusBatch {
  partition: number;
  /** In offset order. */
  messages: BusMessage[];
}

/**
 * A message that can never be stored, e.g. because it is too large. It and what follows it in its partition are not stored;
 * what was before it may have been.
 */
export class MessageRefused extends Error {
  override readonly name = 'MessageRefused';
  constructor(
    /** Of the message in the array that was to be published. */
    readonly index: number,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`message ${String(index)} cannot be stored: ${reason}`, options);
  }
}

/**
 * An offset is beyond the end of its partition: the topic was deleted and made anew, or its newest messages were lost. Ask
 * for offsets again, and begin there.
 */
export class TopicReplaced extends Error {
  override readonly name = 'TopicReplaced';
  constructor(topicName: string, partition: number, offset: string) {
    super(`partition ${String(partition)} of ${topicName} ends before ${offset}: the topic is another one now`);
  }
}

export interface MessageBus {
  /**
   * Creates what is missing.
   * @throws CannotStart when a topic exists with another partition count: its keys would change their partitions
   */
  createTopics(topics: readonly Topic[]): Promise<void>;
  /**
   * Returns when all are stored. Messages of one key keep the order of the array and of successive calls.
   * @param signal once it aborts, nothing more is sent; what is under way may still be stored
   * @throws MessageRefused, Refusal `dependency_unavailable` when some may not be stored: publish all again; and the
   * signal's reason
   */
  publish(topic: Topic, messages: readonly MessageToPublish[], signal?: AbortSignal): Promise<void>;
  /** The partition that a key goes to, for ever. */
  partitionOf(topic: Topic, key: string): number;
  /**
   * By partition: the first kept offset, the one after the newest message, or the first whose timestamp is not before a
   * time (Unix ms; when there is none, as `latest`). In an empty partition all are the same.
   */
  offsets(topic: Topic, at: 'earliest' | 'latest' | number): Promise<Offsets>;
  /**
   * Messages from these offsets on (only of these partitions), for ever: ends when the signal aborts. What is no longer
   * kept is passed over. While the bus is away it waits; afterwards it goes on where it was.
   * @throws TopicReplaced, of a partition that has a message
   */
  consume(topic: Topic, from: Offsets, signal: AbortSignal): AsyncIterable<BusBatch>;
  close(): Promise<void>;
}
