import type { EventFragment } from '../../../schemas/events/watch-events.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { AbiType } from '../../../shared/chain/abi-type.ts';
import { memberNames, decoderOf, EncodedData, toObject, WORD, type Checksum, type ValueDecoder } from './abi-values.ts';
import { isTooLarge, truncatedData } from './data-size.ts';
import { typeOf } from './event-abi.ts';

/** The parts of a log that tell its event and arguments; lower-case hex with `0x`. */
export interface LogContent {
  topics: readonly string[];
  data: string;
}

/**
 * Compiles the decoder of an event, once per watch. The decoder returns `Data` of a record: the arguments by name, or
 * `{raw, error}` for a log that does not fit its event or is too large to be stored. It never throws.
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
    return isTooLarge(decoded, log.data) ? truncatedData(log) : decoded;
  };
};

/**
 * Compiles the test whether a log of the contract is this event: it compares the first topic, or for an anonymous event
 * the layout. A log matches by its first topic even if the contract indexes other parameters than the ABI says; such a
 * log cannot be decoded.
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
      // A log that cannot be decoded is of another event.
      return false;
    }
  };
};

interface Compiled {
  /** Throws for a log that does not fit. */
  decode: (log: LogContent) => JsonObject;
  /** Characters of the data without `0x`; `undefined` if a part of it is dynamic. */
  dataSize: number | undefined;
}

const compile = ({ inputs, anonymous }: EventFragment, checksum: Checksum): Compiled => {
  const names = memberNames(inputs);
  const parameters = inputs.map((input) => ({ type: typeOf(input), indexed: input.indexed === true }));
  const topicsBefore = anonymous ? 0 : 1;
  const topicsExpected = topicsBefore + parameters.filter(({ indexed }) => indexed).length;
  const decoders = parameters.map(({ type, indexed }) =>
    indexed && isHashed(type) ? HASHED : decoderOf(type, checksum),
  );
  const inData = decoders.filter((_, at) => parameters[at]?.indexed === false);

  const decode = ({ topics, data }: LogContent): JsonObject => {
    if (topics.length !== topicsExpected) {
      throw new Error(`the log has ${String(topics.length)} topics, not ${String(topicsExpected)}`);
    }
    const encoded = new EncodedData(data.slice(2));
    let topic = topicsBefore;
    let at = 0;
    const values = decoders.map((decoder, index): JsonValue => {
      if (parameters[index]?.indexed) {
        const value = decoder.decode(new EncodedData((topics[topic] ?? '').slice(2)), 0);
        topic += 1;
        return value;
      }
      const headAt = at;
      at += decoder.headSize;
      return decoder.decode(encoded, decoder.isDynamic ? 2 * encoded.count(headAt) : headAt);
    });
    return toObject(names, values);
  };
  const isStatic = inData.every(({ isDynamic }) => !isDynamic);
  return { decode, dataSize: isStatic ? inData.reduce((sum, { headSize }) => sum + headSize, 0) : undefined };
};

/** Whether an indexed value of the type is in its topic as a hash, because it may be longer than 32 bytes. */
const isHashed = (type: AbiType): boolean =>
  type.kind === 'array' ||
  type.kind === 'tuple' ||
  type.kind === 'string' ||
  (type.kind === 'bytes' && type.size === null);

const HASHED: ValueDecoder = {
  isDynamic: false,
  headSize: WORD,
  decode: (encoded, at) => ({ hash: `0x${encoded.word(at)}` }),
};
