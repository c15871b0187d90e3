import { compress, decompress } from '../primitives/stored-batches.ts';
import type { BusMessage, MessageToPublish } from './message-bus.ts';

/** Fewer messages are not compressed: that would take longer than storing them. */
const COMPRESSED_FROM = 4;

/** A message with its offset. */
export type OffsetMessage = MessageToPublish & { offset: number };
type StoredRecord = [offset: number, key: string, headers: Record<string, string>, value: string | null, time: number];

/** As Kafka does, messages are stored together: they have much in common, and a row costs more than a message. */
export const encodeBatch = (messages: readonly OffsetMessage[]): string | Uint8Array => {
  const records = messages.map(({ offset, key, headers, value, timestamp }): StoredRecord => [
    offset,
    key,
    headers,
    value,
    timestamp,
  ]);
  const text = JSON.stringify(records);
  return messages.length < COMPRESSED_FROM ? text : compress(text);
};

export const decodeBatch = (stored: string | Uint8Array, partition: number): BusMessage[] => {
  const text = typeof stored === 'string' ? stored : decompress(stored).toString();
  return (JSON.parse(text) as StoredRecord[]).map(([offset, key, headers, value, timestamp]) => ({
    ...{ partition, offset: String(offset), key, headers, value, timestamp },
  }));
};
