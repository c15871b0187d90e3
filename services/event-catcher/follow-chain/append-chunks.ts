import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';

/** EventStoreDB takes 1 MiB at once. */
const BYTES_MAX = 900_000;
/** Of an event: its ids, its type and its metadata. */
const OVERHEAD_BYTES = 250;

/** What is appended at once, in order. A record that is too large by itself is alone: the event store decides. */
export const appendChunks = (records: readonly ObservedRecord[]): ObservedRecord[][] => {
  const chunks: ObservedRecord[][] = [];
  let chunk: ObservedRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record)) + OVERHEAD_BYTES;
    if (bytes + size > BYTES_MAX || chunks.length === 0) {
      chunk = [];
      chunks.push(chunk);
      bytes = 0;
    }
    chunk.push(record);
    bytes += size;
  }
  return chunks;
};
