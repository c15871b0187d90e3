import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { AbiType } from '../../../shared/chain/abi-type.ts';

/** Characters of a word of 32 bytes, in hex. */
export const WORD = 64;
/** Of a word, the digits that a safe integer can fill. */
const SMALL = 13;
const ZEROS = '0'.repeat(WORD);
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes that do not fit their type. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** EIP-55 form of 40 lower-case hex digits. */
export type Checksum = (digits: string) => string;

/** What is read from: hex without `0x`. Positions in it count characters. */
export class Source {
  /**
   * An honest encoder writes each word for one reader. So a few words cannot be made to mean millions of values by
   * pointing at them again and again.
   */
  private wordsLeft: number;

  constructor(readonly hex: string) {
    this.wordsLeft = Math.ceil(hex.length / WORD);
  }

  word(at: number): string {
    this.spend(1);
    if (at + WORD > this.hex.length) throw new Malformed('the data ends early');
    return this.hex.slice(at, at + WORD);
  }

  /** `length` bytes, in hex. */
  bytes(at: number, length: number): string {
    this.spend(Math.ceil((2 * length) / WORD));
    const end = at + 2 * length;
    if (end > this.hex.length) throw new Malformed('the data ends early');
    return this.hex.slice(at, end);
  }

  /** A length or an offset, in bytes or elements. */
  count(at: number): number {
    const word = this.word(at);
    if (!word.startsWith(ZEROS.slice(SMALL))) throw new Malformed('a length or an offset is out of range');
    return parseInt(word.slice(-SMALL), 16);
  }

  private spend(words: number): void {
    this.wordsLeft -= words;
    if (this.wordsLeft < 0) throw new Malformed('the data refers to itself, or ends early');
  }
}

/** Reads one value whose head, or for a dynamic type whose content, begins at a position. */
export interface Reader {
  isDynamic: boolean;
  /** Characters it takes in the head. */
  headSize: number;
  read: (source: Source, at: number) => JsonValue;
}

/** Compiles a type once, so that reading decides nothing any more. */
export const readerOf = (type: AbiType, checksum: Checksum): Reader => {
  switch (type.kind) {
    case 'array':
      return arrayReader(readerOf(type.of, checksum), type.length);
    case 'tuple': {
      const names = memberNames(type.components);
      const readers = type.components.map((component) => readerOf(component.type, checksum));
      return sequenceReader(readers, (values) => toObject(names, values));
    }
    case 'string':
      return {
        isDynamic: true,
        headSize: WORD,
        read: (source, at) => readText(source.bytes(at + WORD, source.count(at))),
      };
    case 'bytes':
      if (type.size === null) {
        return {
          isDynamic: true,
          headSize: WORD,
          read: (source, at) => `0x${source.bytes(at + WORD, source.count(at))}`,
        };
      }
      return wordReader(fixedBytes(type.size));
    case 'uint':
      return wordReader(unsigned(type.bits));
    case 'int':
      return wordReader(signed(type.bits));
    case 'bool':
      return wordReader(readBool);
    case 'address':
      return wordReader((word) => checksum(digitsAfterZeros(word, 24, 'address')));
  }
};

/** Values one after the other, the contents of dynamic ones behind them all. */
export const readSequence = (readers: readonly Reader[], source: Source, base: number): JsonValue[] => {
  let at = base;
  return readers.map((reader) => {
    const place = at;
    at += reader.headSize;
    return reader.read(source, reader.isDynamic ? base + 2 * source.count(place) : place);
  });
};

/** Names that are keys of an object: `argN` for none, for one that came before, and for `__proto__`, which is not a key. */
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

export const toObject = (names: readonly string[], values: readonly JsonValue[]): JsonObject => {
  const object: JsonObject = {};
  for (const [at, name] of names.entries()) object[name] = values[at] ?? null;
  return object;
};

const wordReader = (readWord: (word: string) => JsonValue): Reader => ({
  isDynamic: false,
  headSize: WORD,
  read: (source, at) => readWord(source.word(at)),
});

const sequenceReader = (readers: readonly Reader[], toValue: (values: JsonValue[]) => JsonValue): Reader => {
  const isDynamic = readers.some((reader) => reader.isDynamic);
  const size = readers.reduce((sum, { headSize }) => sum + headSize, 0);
  return {
    isDynamic,
    headSize: isDynamic ? WORD : size,
    read: (source, at) => toValue(readSequence(readers, source, at)),
  };
};

const arrayReader = (element: Reader, fixedLength: number | null): Reader => {
  const isDynamic = element.isDynamic || fixedLength === null;
  return {
    isDynamic,
    headSize: isDynamic ? WORD : element.headSize * fixedLength,
    read: (source, at) => {
      const length = fixedLength ?? source.count(at);
      const base = fixedLength === null ? at + WORD : at;
      if (base + length * element.headSize > source.hex.length) throw new Malformed('an array is longer than the data');
      return readSequence(Array<Reader>(length).fill(element), source, base);
    },
  };
};

/** What is left of a word whose first digits have to be zero. */
const digitsAfterZeros = (word: string, zeros: number, type: string): string => {
  if (!word.startsWith(ZEROS.slice(WORD - zeros))) throw new Malformed(`0x${word} is not ${type}`);
  return word.slice(zeros);
};

const decimal = (word: string): string =>
  word.startsWith(ZEROS.slice(SMALL)) ? String(parseInt(word.slice(-SMALL), 16)) : BigInt(`0x${word}`).toString();

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
    if (BigInt.asIntN(bits, value) !== value) throw new Malformed(`0x${word} is not int${String(bits)}`);
    return value.toString();
  };

const fixedBytes =
  (size: number) =>
  (word: string): string => {
    if (!word.endsWith(ZEROS.slice(2 * size))) throw new Malformed(`0x${word} is not bytes${String(size)}`);
    return `0x${word.slice(0, 2 * size)}`;
  };

const readBool = (word: string): boolean => {
  const digit = digitsAfterZeros(word, WORD - 1, 'bool');
  if (digit !== '0' && digit !== '1') throw new Malformed(`0x${word} is not a bool`);
  return digit === '1';
};

const readText = (hex: string): string => {
  try {
    return utf8.decode(Buffer.from(hex, 'hex'));
  } catch (cause) {
    throw new Malformed('a string is not valid UTF-8', { cause });
  }
};
