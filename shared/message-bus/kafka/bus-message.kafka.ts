import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { BusMessage } from '../message-bus.ts';

/**
 * Also reads messages of other producers as text: a missing key becomes empty, and the last of repeated headers wins.
 */
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
