import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { AbiType } from '../../../shared/chain/abi-type.ts';

/** Characters of a word of 32 bytes, in hex. */
export const WORD = 64;
/** How many hex digits always fit a safe integer. */
const SMALL = 13;
const ZEROS = '0'.repeat(WORD);
/** How a word begins that has at most so many digits. */
const BEFORE_SMALL = ZEROS.slice(SMALL);
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The bytes are not a valid encoding of their type. */
export class MalformedData extends Error {
  override readonly name = 'Malformed';
}

/** Returns the EIP-55 form of 40 lower-case hex digits. */
export type Checksum = (digits: string) => string;

/** The position of the first word of encoded data. */
export const FIRST = '0x'.length;

/** ABI-encoded data, hex with `0x`. Positions in it count characters. */
export class EncodedData {
  /**
   * How many words may still be read. An honest encoder writes each word for one value. Without this limit, offsets
   * that point at the same few words again and again would decode to millions of values.
   */
  private wordsLeft: number;

  constructor(readonly hex: string) {
    this.wordsLeft = Math.ceil((hex.length - FIRST) / WORD);
  }

  word(at: number): string {
    this.spend(1);
    if (at + WORD > this.hex.length) throw new MalformedData('the data ends early');
    return this.hex.slice(at, at + WORD);
  }

  /** Returns `length` bytes, in hex. */
  bytes(at: number, length: number): string {
    this.spend(Math.ceil((2 * length) / WORD));
    const end = at + 2 * length;
    if (end > this.hex.length) throw new MalformedData('the data ends early');
    return this.hex.slice(at, end);
  }

  /** Returns a length or an offset, in bytes or elements. */
  count(at: number): number {
    const word = this.word(at);
    if (!word.startsWith(BEFORE_SMALL)) throw new MalformedData('a length or an offset is out of range');
    return parseInt(word.slice(-SMALL), 16);
  }

  private spend(words: number): void {
    this.wordsLeft -= words;
    if (this.wordsLeft < 0) throw new MalformedData('the data refers to itself, or ends early');
  }
}

/** Decodes one value whose head, or for a dynamic type whose content, begins at a position. */
export interface ValueDecoder {
  isDynamic: boolean;
  /** Characters that the value takes in the head. */
  headSize: number;
  decode: (encoded: EncodedData, at: number) => JsonValue;
  /** Of a type that always takes one word, so that an indexed value is its topic: decodes the word's digits. */
  decodeWord?: (word: string) => JsonValue;
}

/** Compiles the decoder of a type once, so that decoding a value does not look at the type again. */
export const decoderOf = (type: AbiType, checksum: Checksum): ValueDecoder => {
  switch (type.kind) {
    case 'array':
      return arrayDecoder(decoderOf(type.of, checksum), type.length);
    case 'tuple': {
      const names = memberNames(type.components);
      const decoders = type.components.map((component) => decoderOf(component.type, checksum));
      return sequenceDecoder(decoders, (values) => toObject(names, values));
    }
    case 'string':
      return {
        isDynamic: true,
        headSize: WORD,
        decode: (encoded, at) => decodeText(encoded.bytes(at + WORD, encoded.count(at))),
      };
    case 'bytes':
      if (type.size === null) {
        return {
          isDynamic: true,
          headSize: WORD,
          decode: (encoded, at) => `0x${encoded.bytes(at + WORD, encoded.count(at))}`,
        };
      }
      return wordDecoder(fixedBytes(type.size));
    case 'uint':
      return wordDecoder(unsigned(type.bits));
    case 'int':
      return wordDecoder(signed(type.bits));
    case 'bool':
      return wordDecoder(decodeBool);
    case 'address':
      return wordDecoder((word) => checksum(digitsAfterZeros(word, 24, 'address')));
  }
};

/** Decodes values whose heads follow one another; the contents of dynamic ones come after all heads. */
const decodeSequence = (decoders: readonly ValueDecoder[], encoded: EncodedData, base: number): JsonValue[] => {
  let at = base;
  return decoders.map((decoder) => {
    const headAt = at;
    at += decoder.headSize;
    return decodeHead(decoder, encoded, headAt, base);
  });
};

/** Decodes a value that is in its head, or, counted from a base, where its head says. */
export const decodeHead = (decoder: ValueDecoder, encoded: EncodedData, headAt: number, base: number): JsonValue =>
  decoder.decode(encoded, decoder.isDynamic ? base + 2 * encoded.count(headAt) : headAt);

/** Returns names that are usable as keys: `argN` replaces an empty name, a repeated one, and `__proto__`. */
export const memberNames = (parameters: readonly { name: string }[]): string[] => {
  const given = parameters.map(({ name }, at) => {
    const isFirst = parameters.findIndex((other) => other.name === name) === at;
    return isFirst && name !== '' && name !== '__proto__' ? name : undefined;
  });
  return given.map((name, at) => {
    let free = name ?? `arg${String(at)}`;
    while (name === undefined && given.includes(free)) free += '_';
    return free;
  });
};

const toObject = (names: readonly string[], values: readonly JsonValue[]): JsonObject => {
  const object: JsonObject = {};
  for (let at = 0; at < names.length; at += 1) object[names[at] ?? ''] = values[at] ?? null;
  return object;
};

const wordDecoder = (decodeWord: (word: string) => JsonValue): ValueDecoder => ({
  isDynamic: false,
  headSize: WORD,
  decode: (encoded, at) => decodeWord(encoded.word(at)),
  decodeWord,
});

const sequenceDecoder = (
  decoders: readonly ValueDecoder[],
  toValue: (values: JsonValue[]) => JsonValue,
): ValueDecoder => {
  const isDynamic = decoders.some((decoder) => decoder.isDynamic);
  const size = decoders.reduce((sum, { headSize }) => sum + headSize, 0);
  return {
    isDynamic,
    headSize: isDynamic ? WORD : size,
    decode: (encoded, at) => toValue(decodeSequence(decoders, encoded, at)),
  };
};

const arrayDecoder = (element: ValueDecoder, fixedLength: number | null): ValueDecoder => {
  const isDynamic = element.isDynamic || fixedLength === null;
  return {
    isDynamic,
    headSize: isDynamic ? WORD : element.headSize * fixedLength,
    decode: (encoded, at) => {
      const length = fixedLength ?? encoded.count(at);
      const base = fixedLength === null ? at + WORD : at;
      if (base + length * element.headSize > encoded.hex.length)
        throw new MalformedData('an array is longer than the data');
      return decodeSequence(Array<ValueDecoder>(length).fill(element), encoded, base);
    },
  };
};

/** Returns the rest of a word whose first digits must be zero. */
const digitsAfterZeros = (word: string, zeros: number, type: string): string => {
  if (zeros > 0 && !word.startsWith(ZEROS.slice(WORD - zeros))) throw new MalformedData(`0x${word} is not ${type}`);
  return word.slice(zeros);
};

const decimal = (word: string): string =>
  word.startsWith(BEFORE_SMALL) ? String(parseInt(word.slice(-SMALL), 16)) : BigInt(`0x${word}`).toString();

const unsigned = (bits: number) => {
  const zeros = (256 - bits) / 4;
  return (word: string): string => {
    digitsAfterZeros(word, zeros, `uint${String(bits)}`);
    return decimal(word);
  };
};

const signed =
  (bits: number) =>
  (word: string): string => {
    const value = BigInt.asIntN(256, BigInt(`0x${word}`));
    if (BigInt.asIntN(bits, value) !== value) throw new MalformedData(`0x${word} is not int${String(bits)}`);
    return value.toString();
  };

const fixedBytes =
  (size: number) =>
  (word: string): string => {
    if (!word.endsWith(ZEROS.slice(2 * size))) throw new MalformedData(`0x${word} is not bytes${String(size)}`);
    return `0x${word.slice(0, 2 * size)}`;
  };

const decodeBool = (word: string): boolean => {
  const digit = digitsAfterZeros(word, WORD - 1, 'bool');
  if (digit !== '0' && digit !== '1') throw new MalformedData(`0x${word} is not a bool`);
  return digit === '1';
};

const decodeText = (hex: string): string => {
  try {
    return utf8.decode(Buffer.from(hex, 'hex'));
  } catch (cause) {
    throw new MalformedData('a string is not valid UTF-8', { cause });
  }
};
