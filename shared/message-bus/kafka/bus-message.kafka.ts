import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { BusMessage } from './message-bus.ts';

/** Reads messages of other producers as text too: a missing key is empty, the last of repeated headers is used. */
export const toBusMessage = (
  partition: number,
  { offset, key, value, headers, timestamp }: KafkaMessage,
): BusMessage => ({
  partition,
  offset,
  key: key?.toString() ?? '',
  headers: textsOf(headers ?? {}),
  value: value?.toString() ?? null,
  timestamp: Number(timestamp),
});

const textsOf = (headers: IHeaders): Record<string, string> => {
  const texts: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    texts[name] = String((Array.isArray(value) ? value.at(-1) : value) ?? '');
  }
  return texts;
};
