import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { KafkaMessage } from 'kafkajs';

/**
 * The inside of kafkajs 2.2.4, whose version is pinned, as far as it is used here. It has no types: these are what its
 * sources say. The specs of the two guards, and of the bus on Kafka, fail without any of it.
 */
const require = createRequire(import.meta.url);

/** One per connection. */
export interface RequestQueue {
  pending: unknown[];
  throttledUntil: number;
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

export const requestQueues = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };

/** One per broker. */
export interface BrokerConnection {
  socket: Socket;
  processData: (this: BrokerConnection, received: Buffer) => void;
}

export const brokerConnections = require('kafkajs/src/network/connection') as { prototype: BrokerConnection };

/** What a broker gives of one partition. */
export interface FetchedPartition {
  partition: number;
  highWatermark: string;
  messages: KafkaMessage[];
}

/** Leaves out what precedes the offset, control records, and what an aborted transaction wrote. */
export const Batch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  fetched: FetchedPartition,
) => {
  messages: KafkaMessage[];
  /** As they came. */
  rawMessages: KafkaMessage[];
  lastOffset(): string;
};
export type Batch = InstanceType<typeof Batch>;
