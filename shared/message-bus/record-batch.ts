import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { BusMessage, MessageToPublish } from './message-bus.ts';

/** A batch has at most so many messages, so that whoever wants one of them does not read many more. */
const MESSAGES_MAX = 500;
/** And ends at this size, of the text of its messages. */
const CHARACTERS_MAX = 256 * 1_024;
/** Fewer messages are not compressed: that would take longer than storing them. */
const COMPRESSED_FROM = 4;
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** A message with its offset. */
export type OffsetMessage = MessageToPublish & { offset: number };
type StoredRecord = [offset: number, key: string, headers: Record<string, string>, value: string | null, time: number];

/** Yields the messages of batches that are each small enough to be stored as one, in their order. */
export function* batchesOf<Message extends MessageToPublish>(messages: Iterable<Message>): Generator<Message[]> {
  let batch: Message[] = [];
  let characters = 0;
  for (const message of messages) {
    if (batch.length === MESSAGES_MAX || (batch.length > 0 && characters >= CHARACTERS_MAX)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(message);
    characters += message.value?.length ?? 0;
  }
  if (batch.length > 0) yield batch;
}

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
  return messages.length < COMPRESSED_FROM ? text : zstdCompressSync(text, ZSTD);
};

export const decodeBatch = (stored: string | Uint8Array, partition: number): BusMessage[] => {
  const text = typeof stored === 'string' ? stored : zstdDecompressSync(stored).toString();
  return (JSON.parse(text) as StoredRecord[]).map(([offset, key, headers, value, timestamp]) => ({
    ...{ partition, offset: String(offset), key, headers, value, timestamp },
  }));
};
