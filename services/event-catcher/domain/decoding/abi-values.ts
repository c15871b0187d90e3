import type { JsonObject, JsonValue } from '../../../../schemas/json.ts';
import { typeName, type AbiType } from '../../../../shared/chain/identifiers/abi-type.ts';

/** Characters of a word of 32 bytes, in hex. */
export const WORD = 64;
/** How many hex digits always fit a safe integer. */
const SMALL = 13;
const ZEROS = '0'.repeat(WORD);
/** The prefix of a word that has at most this many digits. */
const BEFORE_SMALL = ZEROS.slice(SMALL);
/** The digits of a word before an address. */
const ADDRESS_ZEROS = 24;
/** An address and a selector. */
const FUNCTION_BYTES = 24;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Thrown if it cannot be told where the values of the data begin and end. */
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
   * How many characters may still be read. Every compiler writes each byte for one value. Without this limit, offsets
   * that point at the same few words again and again would decode to millions of values. The padding after a value is not
   * counted, because solc before 0.5 leaves it out: the next value begins there.
   */
  private charactersLeft: number;

  constructor(readonly hex: string) {
    this.charactersLeft = hex.length - FIRST;
  }

  word(at: number): string {
    this.spend(WORD);
    if (at + WORD > this.hex.length) throw new MalformedData('the data ends early');
    return this.hex.slice(at, at + WORD);
  }

  /** Returns `length` bytes, in hex. */
  bytes(at: number, length: number): string {
    this.spend(2 * length);
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

  private spend(characters: number): void {
    this.charactersLeft -= characters;
    if (this.charactersLeft < 0) throw new MalformedData('the data refers to itself, or ends early');
  }
}

/** Decodes one value whose head, or for a dynamic type whose content, begins at a position. */
export interface ValueDecoder {
  isDynamic: boolean;
  /** Characters that the value takes in the head. */
  headSize: number;
  decode: (encoded: EncodedData, at: number) => JsonValue;
  /** For a type that always takes one word, so that an indexed value is its topic: decodes the word's digits. */
  decodeWord?: (word: string) => JsonValue;
}

export interface DecoderOptions {
  checksum: Checksum;
  /**
   * In mode `layout` the decoder throws for a word that no compiler writes for its type, because such data has another
   * layout. These are numbers, addresses and functions with unused bits set, outside of arrays. solc before 0.3.3 wrote
   * such words for bools and `bytes1` to `bytes31`, and every solc before 0.5 copies array elements as the sender gave
   * them.
   */
  purpose: 'values' | 'layout';
}

/** Compiles the decoder of a type once, so that decoding a value does not parse the type again. */
export const decoderOf = (type: AbiType, options: DecoderOptions): ValueDecoder => {
  const misfit = options.purpose === 'layout' ? refuseWord : misfitWord;
  switch (type.kind) {
    case 'array':
      return arrayDecoder(decoderOf(type.of, { ...options, purpose: 'values' }), type.length);
    case 'tuple': {
      const names = memberNames(type.components);
      const decoders = type.components.map((component) => decoderOf(component.type, options));
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
      return wordDecoder(fixedBytes(type.size), misfitWord(type));
    case 'uint':
      return wordDecoder(unsigned(type.bits), misfit(type));
    case 'int':
      return wordDecoder(signed(type.bits), misfit(type));
    case 'bool':
      return wordDecoder(decodeBool, misfitWord(type));
    case 'address':
      return wordDecoder((word) => {
        const digits = digitsAfterZeros(word, ADDRESS_ZEROS);
        return digits === undefined ? undefined : options.checksum(digits);
      }, misfit(type));
    case 'function':
      return wordDecoder(fixedBytes(FUNCTION_BYTES), misfit(type));
  }
};

/** Decodes values whose heads follow one another. The contents of dynamic values come after all heads. */
const decodeSequence = (decoders: readonly ValueDecoder[], encoded: EncodedData, base: number): JsonValue[] => {
  let at = base;
  return decoders.map((decoder) => {
    const headAt = at;
    at += decoder.headSize;
    return decodeHead(decoder, encoded, headAt, base);
  });
};

/** Decodes a static value from its head, or a dynamic value from the place, relative to a base, that its head gives. */
export const decodeHead = (decoder: ValueDecoder, encoded: EncodedData, headAt: number, base: number): JsonValue =>
  decoder.decode(encoded, decoder.isDynamic ? base + 2 * encoded.count(headAt) : headAt);

/** Returns names that can be used as keys: `argN` replaces empty and repeated names, and `__proto__`. */
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

/** Reads a word; `undefined` for one that does not fit the type. */
type ReadWord = (word: string) => string | boolean | undefined;

const wordDecoder = (read: ReadWord, misfit: (word: string) => JsonValue): ValueDecoder => {
  const decodeWord = (word: string): JsonValue => read(word) ?? misfit(word);
  return { isDynamic: false, headSize: WORD, decode: (encoded, at) => decodeWord(encoded.word(at)), decodeWord };
};

/** The decoded value if its bytes do not fit its type. */
const misfitValue = (digits: string, type: string): JsonValue => ({
  raw: `0x${digits}`,
  error: `is not valid ${type}`,
});

const misfitWord =
  (type: AbiType) =>
  (word: string): JsonValue =>
    misfitValue(word, typeName(type));

const refuseWord =
  (type: AbiType) =>
  (word: string): never => {
    throw new MalformedData(`0x${word} is not valid ${typeName(type)}`);
  };

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
const digitsAfterZeros = (word: string, zeros: number): string | undefined =>
  zeros > 0 && !word.startsWith(ZEROS.slice(WORD - zeros)) ? undefined : word.slice(zeros);

const decimal = (word: string): string =>
  word.startsWith(BEFORE_SMALL) ? String(parseInt(word.slice(-SMALL), 16)) : BigInt(`0x${word}`).toString();

const unsigned = (bits: number): ReadWord => {
  const zeros = (256 - bits) / 4;
  return (word) => (digitsAfterZeros(word, zeros) === undefined ? undefined : decimal(word));
};

const signed =
  (bits: number): ReadWord =>
  (word) => {
    const value = BigInt.asIntN(256, BigInt(`0x${word}`));
    return BigInt.asIntN(bits, value) === value ? value.toString() : undefined;
  };

const fixedBytes =
  (size: number): ReadWord =>
  (word) =>
    word.endsWith(ZEROS.slice(2 * size)) ? `0x${word.slice(0, 2 * size)}` : undefined;

const decodeBool: ReadWord = (word) => {
  const digit = digitsAfterZeros(word, WORD - 1);
  return digit === '0' || digit === '1' ? digit === '1' : undefined;
};

const decodeText = (hex: string): JsonValue => {
  try {
    return utf8.decode(Buffer.from(hex, 'hex'));
  } catch {
    return misfitValue(hex, 'UTF-8');
  }
};
