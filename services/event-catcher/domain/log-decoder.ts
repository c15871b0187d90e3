import type { EventFragment } from '../../../schemas/events/watch-events.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { AbiType } from '../../../shared/chain/abi-type.ts';
import { memberNames, readerOf, Source, toObject, WORD, type Checksum, type Reader } from './abi-values.ts';
import { isTooLarge, beginningOf } from './data-size.ts';
import { typeOf } from './event-abi.ts';

/** Of a log, what an event is told by; lower-case hex with `0x`. */
export interface LogContent {
  topics: readonly string[];
  data: string;
}

/**
 * Compiles the decoder of an event, once per watch. What it makes is `Data` of a record: arguments by name, or
 * `{raw, error}` for a log that does not fit its event, or is too large to be stored. It never throws.
 */
export const compileDecoder = (fragment: EventFragment, checksum: Checksum): ((log: LogContent) => JsonObject) => {
  const { decode } = compile(fragment, checksum);
  const decodeOrNot = (log: LogContent): JsonObject => {
    try {
      return decode(log);
    } catch (error) {
      const { topics, data } = log;
      return { raw: { topics: [...topics], data }, error: error instanceof Error ? error.message : String(error) };
    }
  };
  return (log) => {
    const decoded = decodeOrNot(log);
    return isTooLarge(decoded, log.data) ? beginningOf(log) : decoded;
  };
};

/**
 * Says whether a log of the contract is this event: by its first topic, an anonymous one by its layout. A named event
 * whose contract indexes other parameters than the ABI says is this event too, and cannot be decoded.
 */
export const compileMatcher = (fragment: EventFragment, topic0: string | null): ((log: LogContent) => boolean) => {
  if (topic0 !== null) return ({ topics }) => topics[0] === topic0;
  const { decode, dataSize } = compile(fragment, (digits) => digits);
  return (log) => {
    if (dataSize !== undefined && log.data.length !== 2 + dataSize) return false;
    try {
      decode(log);
      return true;
    } catch {
      // It is another event's.
      return false;
    }
  };
};

interface Compiled {
  /** Throws for a log that does not fit. */
  decode: (log: LogContent) => JsonObject;
  /** Characters of the data without `0x`; `undefined` when a part of it is dynamic. */
  dataSize: number | undefined;
}

const compile = ({ inputs, anonymous }: EventFragment, checksum: Checksum): Compiled => {
  const names = memberNames(inputs);
  const parameters = inputs.map((input) => ({ type: typeOf(input), indexed: input.indexed === true }));
  const topicsBefore = anonymous ? 0 : 1;
  const topicsExpected = topicsBefore + parameters.filter(({ indexed }) => indexed).length;
  const readers = parameters.map(({ type, indexed }) =>
    indexed && isHashed(type) ? HASHED : readerOf(type, checksum),
  );
  const inData = readers.filter((_, at) => parameters[at]?.indexed === false);

  const decode = ({ topics, data }: LogContent): JsonObject => {
    if (topics.length !== topicsExpected) {
      throw new Error(`the log has ${String(topics.length)} topics, not ${String(topicsExpected)}`);
    }
    const source = new Source(data.slice(2));
    let topic = topicsBefore;
    let at = 0;
    const values = readers.map((reader, index): JsonValue => {
      if (parameters[index]?.indexed) {
        const value = reader.read(new Source((topics[topic] ?? '').slice(2)), 0);
        topic += 1;
        return value;
      }
      const place = at;
      at += reader.headSize;
      return reader.read(source, reader.isDynamic ? 2 * source.count(place) : place);
    });
    return toObject(names, values);
  };
  const isStatic = inData.every(({ isDynamic }) => !isDynamic);
  return { decode, dataSize: isStatic ? inData.reduce((sum, { headSize }) => sum + headSize, 0) : undefined };
};

/** Values that do not fit a topic stand there as their hash. */
const isHashed = (type: AbiType): boolean =>
  type.kind === 'array' ||
  type.kind === 'tuple' ||
  type.kind === 'string' ||
  (type.kind === 'bytes' && type.size === null);

const HASHED: Reader = { isDynamic: false, headSize: WORD, read: (source, at) => ({ hash: `0x${source.word(at)}` }) };
