import { MessageRefused, type MessageToPublish } from './message-bus.ts';

/** Below what Kafka takes by default (1 MiB and 12 bytes for a batch). */
const MESSAGE_BYTES_MAX = 1_000_000;

/** Of its texts; a log adds a few bytes more. */
export const messageBytes = ({ key, headers, value }: MessageToPublish): number => {
  let bytes = Buffer.byteLength(key) + (value === null ? 0 : Buffer.byteLength(value));
  for (const [name, text] of Object.entries(headers)) bytes += Buffer.byteLength(name) + Buffer.byteLength(text);
  return bytes;
};

/** What to say when one of the messages is too large for any bus. Asked before any of them is stored. */
export const refusalOfSize = (bytesOfEach: readonly number[]): MessageRefused | undefined => {
  const index = bytesOfEach.findIndex((bytes) => bytes > MESSAGE_BYTES_MAX);
  return index === -1 ? undefined : new MessageRefused(index, `it has more than ${String(MESSAGE_BYTES_MAX)} bytes`);
};
