import { compress, decompress } from '../../primitives/sqlite/stored-batches.ts';
import type { BusMessage, MessageToPublish } from '../message-bus.ts';

/** Compressing fewer messages would take longer than storing them. */
const COMPRESSED_FROM = 4;

/** A message with its offset. */
export type OffsetMessage = MessageToPublish & { offset: number };
type StoredRecord = [offset: number, key: string, headers: Record<string, string>, value: string | null, time: number];

/** The first line of a batch. One line per value follows, empty for a message without a value. */
interface Head {
  offsets: number[];
  times: number[];
  keys: Column;
  headers: Record<string, Column>;
  /** The indexes of the messages without a value. */
  empty: number[];
}
/** One text per message, `null` for a message without one; or a single text that all messages have. */
type Column = string | (string | null)[];

/** Stores messages together, as Kafka does: they have much in common, and a row costs more than a message. */
export const encodeBatch = (messages: readonly OffsetMessage[]): string | Uint8Array => {
  if (messages.length < COMPRESSED_FROM) return asRecords(messages);
  return compress(messages.some(({ value }) => value?.includes('\n')) ? asRecords(messages) : asLines(messages));
};

const asRecords = (messages: readonly OffsetMessage[]): string =>
  JSON.stringify(
    messages.map(({ offset, key, headers, value, timestamp }): StoredRecord => [
      ...([offset, key, headers, value, timestamp] as const),
    ]),
  );

const asLines = (messages: readonly OffsetMessage[]): string => {
  const head: Head = {
    offsets: messages.map(({ offset }) => offset),
    times: messages.map(({ timestamp }) => timestamp),
    keys: columnOf(messages.map(({ key }) => key)),
    headers: headersOf(messages),
    empty: messages.flatMap(({ value }, at) => (value === null ? [at] : [])),
  };
  return [JSON.stringify(head), ...messages.map(({ value }) => value ?? '')].join('\n');
};

const headersOf = (messages: readonly OffsetMessage[]): Record<string, Column> => {
  const columns = new Map<string, (string | null)[]>();
  for (const [at, { headers }] of messages.entries()) {
    for (const name in headers) {
      let column = columns.get(name);
      if (!column) columns.set(name, (column = new Array<string | null>(messages.length).fill(null)));
      column[at] = headers[name] ?? null;
    }
  }
  return Object.fromEntries(Array.from(columns, ([name, column]) => [name, columnOf(column)]));
};

const columnOf = (texts: (string | null)[]): Column => {
  const [first] = texts;
  return typeof first === 'string' && texts.every((text) => text === first) ? first : texts;
};

export const decodeBatch = (stored: string | Uint8Array, partition: number): BusMessage[] => {
  const text = typeof stored === 'string' ? stored : decompress(stored).toString();
  return text.startsWith('[') ? readRecords(text, partition) : readLines(text, partition);
};

const readRecords = (text: string, partition: number): BusMessage[] =>
  (JSON.parse(text) as StoredRecord[]).map(([offset, key, headers, value, timestamp]) => ({
    ...{ partition, offset: String(offset), key, headers, value, timestamp },
  }));

const readLines = (text: string, partition: number): BusMessage[] => {
  const [first = '', ...values] = text.split('\n');
  const { offsets, times, keys, headers, empty } = JSON.parse(first) as Head;
  const columns = Object.entries(headers);
  const ofAll = Object.fromEntries(columns.filter((one): one is [string, string] => typeof one[1] === 'string'));
  const ofEach = columns.filter(([name]) => !Object.hasOwn(ofAll, name));
  const messages = values.map((value, at): BusMessage => {
    const ofMessage: Record<string, string> = { ...ofAll };
    for (const [name, column] of ofEach) {
      const header = textIn(column, at);
      if (header !== null) ofMessage[name] = header;
    }
    const [key, timestamp] = [textIn(keys, at) ?? '', times[at] ?? 0];
    return { partition, offset: String(offsets[at]), key, headers: ofMessage, value, timestamp };
  });
  for (const at of empty) Object.assign(messages[at] ?? {}, { value: null });
  return messages;
};

const textIn = (column: Column, at: number): string | null =>
  typeof column === 'string' ? column : (column[at] ?? null);
