import type { EventFragment } from '../../../../schemas/events/event-catcher/watch-events.ts';
import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import {
  decodeHead,
  decoderOf,
  EncodedData,
  FIRST,
  MalformedData,
  memberNames,
  WORD,
  type Checksum,
  type DecoderOptions,
} from './abi-values.ts';
import { charactersThatFit, isTooLarge, truncatedData } from './data-size.ts';
import { typeOf } from './event-abi.ts';

/** The parts of a log that tell its event and arguments; lower-case hex with `0x`. */
export interface LogContent {
  topics: readonly string[];
  data: string;
}

/**
 * Compiles the decoder of an event, once per watch. The decoder returns the `Data` of a record: the arguments by name,
 * with `{raw, error}` for an argument whose bytes do not fit its type. If the log has another layout than its event, or
 * is too large to be stored, `Data` as a whole is `{raw, error}`. It never throws.
 */
export const compileDecoder = (fragment: EventFragment, checksum: Checksum): ((log: LogContent) => JsonObject) => {
  const { decode } = compile(fragment, { checksum, purpose: 'values' });
  const fitting = charactersThatFit(fragment.inputs);
  return (log) => {
    let decoded: JsonObject;
    try {
      decoded = decode(log);
    } catch (error) {
      const { topics, data } = log;
      decoded = { raw: { topics: [...topics], data }, error: messageOf(error) };
    }
    return isTooLarge(decoded, log.data, fitting) ? truncatedData(log) : decoded;
  };
};

/** Compiles a check of a log's layout. It returns why the layout is not the event's; `undefined` if it is. */
export const compileMisfit = (fragment: EventFragment): ((log: LogContent) => string | undefined) => {
  const { decode } = compile(fragment, { checksum: unchanged, purpose: 'values' });
  return (log) => {
    try {
      decode(log);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  };
};

/**
 * Compiles the test whether a log of the contract is this event. It compares the first topic, or for an anonymous event
 * the layout. A log matches by its first topic even if the contract indexes other parameters than the ABI says; such a
 * log cannot be decoded. Anything that a compiler may have emitted for an anonymous event matches, so that a sender
 * cannot hide a log by odd values or by text that is not UTF-8.
 */
export const compileMatcher = (fragment: EventFragment, topic0: string | null): ((log: LogContent) => boolean) => {
  if (topic0 !== null) return ({ topics }) => topics[0] === topic0;
  const { decode, dataSize } = compile(fragment, { checksum: unchanged, purpose: 'layout' });
  return (log) => {
    if (dataSize !== undefined && log.data.length !== 2 + dataSize) return false;
    try {
      decode(log);
      return true;
    } catch {
      // A log with another layout belongs to another event.
      return false;
    }
  };
};

const unchanged: Checksum = (digits) => digits;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

interface Compiled {
  /** Throws if the log has another layout. */
  decode: (log: LogContent) => JsonObject;
  /** Length of the data without `0x`; `undefined` if a part of it is dynamic. */
  dataSize: number | undefined;
}

const compile = ({ inputs, anonymous }: EventFragment, options: DecoderOptions): Compiled => {
  const names = memberNames(inputs);
  const members = inputs.map((input, at) => {
    const decoder = decoderOf(typeOf(input), options);
    const decodeTopic = input.indexed === true ? (decoder.decodeWord ?? hashOf) : undefined;
    return { name: names[at] ?? '', decoder, decodeTopic };
  });
  const topicsBefore = anonymous ? 0 : 1;
  const topicsExpected = topicsBefore + members.filter(({ decodeTopic }) => decodeTopic).length;
  const inData = members.filter(({ decodeTopic }) => !decodeTopic);

  const decode = ({ topics, data }: LogContent): JsonObject => {
    if (topics.length !== topicsExpected) {
      throw new Error(`the log has ${String(topics.length)} topics, not ${String(topicsExpected)}`);
    }
    const encoded = new EncodedData(data);
    let topic = topicsBefore;
    let at = FIRST;
    const decoded: JsonObject = {};
    for (const { name, decoder, decodeTopic } of members) {
      if (decodeTopic) {
        decoded[name] = decodeTopic(wordOfTopic(topics[topic]));
        topic += 1;
      } else {
        decoded[name] = decodeHead(decoder, encoded, at, FIRST);
        at += decoder.headSize;
      }
    }
    return decoded;
  };
  const isStatic = inData.every(({ decoder }) => !decoder.isDynamic);
  return { decode, dataSize: isStatic ? inData.reduce((sum, { decoder }) => sum + decoder.headSize, 0) : undefined };
};

const wordOfTopic = (topic = ''): string => {
  if (topic.length !== FIRST + WORD) throw new MalformedData('a topic is not 32 bytes');
  return topic.slice(FIRST);
};

/** The topic of an indexed value that may exceed 32 bytes is a hash. */
const hashOf = (word: string): JsonValue => ({ hash: `0x${word}` });
