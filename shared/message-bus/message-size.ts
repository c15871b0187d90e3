import { MessageRefused, type MessageToPublish } from './message-bus.ts';

/** Below Kafka's default limit of 1 MiB and 12 bytes per batch. */
const MESSAGE_BYTES_MAX = 1_000_000;
/** Maximum UTF-8 bytes per UTF-16 unit. */
const UTF8_BYTES_MAX = 3;

/** Returns the size of a message's texts. A log adds a few bytes. */
export const messageBytes = (message: MessageToPublish): number => sizeOf(message, (text) => Buffer.byteLength(text));

/**
 * Returns the refusal of the first message that is too large for any bus. To be checked before any message is stored.
 */
export const refusalOfSize = (messages: readonly MessageToPublish[]): MessageRefused | undefined => {
  const index = messages.findIndex(
    (message) =>
      sizeOf(message, ({ length }) => length) * UTF8_BYTES_MAX > MESSAGE_BYTES_MAX &&
      messageBytes(message) > MESSAGE_BYTES_MAX,
  );
  return index === -1 ? undefined : new MessageRefused(index, `it has more than ${String(MESSAGE_BYTES_MAX)} bytes`);
};

const sizeOf = ({ key, headers, value }: MessageToPublish, of: (text: string) => number): number => {
  let size = of(key) + (value === null ? 0 : of(value));
  for (const name in headers) size += of(name) + of(headers[name] ?? '');
  return size;
};
