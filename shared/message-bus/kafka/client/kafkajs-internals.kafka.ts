import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { KafkaMessage } from 'kafkajs';

/**
 * The internals of kafkajs 2.2.4 that are used here, typed after its sources. The version is pinned. The specs of the
 * two guards, and of the bus on Kafka, fail when any of these internals change.
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

/** A broker's answer for one partition. */
export interface FetchedPartition {
  partition: number;
  highWatermark: string;
  messages: KafkaMessage[];
}

/** Drops messages before the offset, control records and messages of aborted transactions. */
export const Batch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  fetched: FetchedPartition,
) => {
  messages: KafkaMessage[];
  /** As received. */
  rawMessages: KafkaMessage[];
  lastOffset(): string;
};
export type Batch = InstanceType<typeof Batch>;
