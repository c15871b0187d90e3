import { hash } from 'node:crypto';
import type { AbiParameter } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';

/**
 * The most bytes that `Data` of a record may have as JSON. A record is appended and published whole: EventStoreDB takes
 * 1 MiB, Kafka 1 MB. The other members may have as much again, because names and signatures come from a request of
 * 256 KiB.
 */
export const DATA_BYTES_MAX = 256 * 1024;
/**
 * Data of a log with up to this many characters, 100 words, always fits. A word makes at most one value of 195 bytes
 * (32 characters that JSON escapes), inside a parameter and 16 tuples whose names have 128 characters: 134 bytes each,
 * with quotes and brackets.
 */
const ALWAYS_FITTING_CHARACTERS = 2 + 100 * 64;
const USUAL_NAME_MAX = 128;
/** How many bytes are kept of data that is too large. */
const KEPT_BYTES = 1_024;

/**
 * Returns up to which length, with `0x`, the data of a log needs no measuring: 0 for an event with longer names than
 * usual.
 */
export const charactersThatFit = (parameters: readonly AbiParameter[]): number =>
  parameters.every(hasUsualNames) ? ALWAYS_FITTING_CHARACTERS : 0;

const hasUsualNames = ({ name, components = [] }: AbiParameter): boolean =>
  name.length <= USUAL_NAME_MAX && components.every(hasUsualNames);

/**
 * Whether decoded data is too large to be stored. Most logs are so short that they need no measuring.
 * @param logData with `0x`
 * @param fitting see `charactersThatFit`
 */
export const isTooLarge = (decoded: JsonObject, logData: string, fitting: number): boolean =>
  logData.length > fitting && !hasAtMost(DATA_BYTES_MAX, decoded);

/** What is stored in place of data that is too large: enough to find the log on its chain, and to prove its content. */
export const truncatedData = ({ topics, data }: { topics: readonly string[]; data: string }): JsonObject => ({
  raw: {
    topics: [...topics],
    data: data.slice(0, 2 + 2 * KEPT_BYTES),
    bytes: (data.length - 2) / 2,
    hash: `0x${hash('keccak-256', Buffer.from(data.slice(2), 'hex'), 'hex')}`,
  },
  error: `decoded it has more than ${String(DATA_BYTES_MAX)} bytes as JSON`,
});

/** Stops at the limit, because long names can turn a few megabytes of data into gigabytes of JSON. */
const hasAtMost = (bytes: number, decoded: JsonValue): boolean => {
  let left = bytes;
  const take = (value: JsonValue): boolean => {
    if (Array.isArray(value)) {
      left -= 2 + Math.max(value.length - 1, 0);
      return left >= 0 && value.every(take);
    }
    if (typeof value === 'object' && value !== null) {
      const members = Object.entries(value);
      left -= 2 + Math.max(members.length - 1, 0);
      return members.every(([name, member]) => {
        left -= jsonBytes(name) + 1;
        return left >= 0 && take(member);
      });
    }
    left -= jsonBytes(value);
    return left >= 0;
  };
  return take(decoded);
};

const jsonBytes = (value: string | number | boolean | null): number => Buffer.byteLength(JSON.stringify(value));
