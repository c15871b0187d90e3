import { MessageRefused, type MessageToPublish } from './message-bus.ts';

/** Below what Kafka accepts by default (1 MiB and 12 bytes for a batch). */
const MESSAGE_BYTES_MAX = 1_000_000;

/** Returns the size of a message's texts. A log adds a few bytes. */
export const messageBytes = ({ key, headers, value }: MessageToPublish): number => {
  let bytes = Buffer.byteLength(key) + (value === null ? 0 : Buffer.byteLength(value));
  for (const [name, text] of Object.entries(headers)) bytes += Buffer.byteLength(name) + Buffer.byteLength(text);
  return bytes;
};

/** Returns the refusal of the first message that is too large for any bus. Checked before any message is stored. */
export const refusalOfSize = (bytesOfEach: readonly number[]): MessageRefused | undefined => {
  const index = bytesOfEach.findIndex((bytes) => bytes > MESSAGE_BYTES_MAX);
  return index === -1 ? undefined : new MessageRefused(index, `it has more than ${String(MESSAGE_BYTES_MAX)} bytes`);
};
