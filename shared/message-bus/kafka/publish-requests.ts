import type { MessageToPublish } from '../message-bus.ts';

const PARTITION_MESSAGES_MAX = 500;
const PARTITION_BYTES_MAX = 900_000;

export interface Routed {
  message: MessageToPublish;
  /** The size of the message. */
  bytes: number;
  partition: number;
  /** The message's index in the array to publish. */
  index: number;
}

/**
 * Splits messages into requests, each a contiguous part of the array, so that all messages before a failed request are
 * stored. A broker accepts the messages of one partition in a request as one batch, whose size is limited.
 */
export const publishRequests = function* (messages: readonly Routed[]): Generator<Routed[]> {
  let request: Routed[] = [];
  let filled = new Map<number, { messages: number; bytes: number }>();
  for (const routed of messages) {
    const { bytes } = routed;
    const already = filled.get(routed.partition) ?? { messages: 0, bytes: 0 };
    const isFull =
      already.messages > 0 &&
      (already.messages === PARTITION_MESSAGES_MAX || already.bytes + bytes > PARTITION_BYTES_MAX);
    if (isFull) {
      yield request;
      request = [];
      filled = new Map();
    }
    request.push(routed);
    filled.set(routed.partition, {
      messages: (isFull ? 0 : already.messages) + 1,
      bytes: (isFull ? 0 : already.bytes) + bytes,
    });
  }
  if (request.length > 0) yield request;
};
