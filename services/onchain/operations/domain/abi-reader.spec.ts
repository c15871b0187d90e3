import { describe, expect, it } from '@jest/globals';
import { AbiReader, readIfWellFormed } from './abi-reader.ts';

const word = (value: bigint | number): string => value.toString(16).padStart(64, '0');
const readerOf = (...words: string[]) => new AbiReader(Buffer.from(words.join(''), 'hex'));
const CUT_OFF = new RangeError('cut off');

describe('a reader of encoded bytes', () => {
  it('reads whole words only', () => {
    expect(readerOf(word(1), word(7)).uint(1)).toBe(7n);
    expect(() => readerOf(word(7).slice(2)).uint(0)).toThrow(CUT_OFF);
    expect(() => readerOf(word(7)).uint(1)).toThrow(CUT_OFF);
  });

  it('reads bytes that are all there', () => {
    expect(readerOf(word(32), word(3), 'abcdef').content(0).toString('hex')).toBe('abcdef');
    expect(readerOf(word(32), word(0)).content(0)).toHaveLength(0);
    expect(() => readerOf(word(32), word(4), 'abcdef').content(0)).toThrow(CUT_OFF);
  });

  it('reads no lengths and places beyond 32 bits', () => {
    const largest = 2n ** 32n;
    expect(() => readerOf(word(largest)).content(0)).toThrow(CUT_OFF);
    expect(() => readerOf(word(32), word(largest)).content(0)).toThrow(CUT_OFF);
    for (const reader of [readerOf(word(largest + 1n)), readerOf(word(32), word(largest + 1n))]) {
      expect(() => reader.content(0)).toThrow(new RangeError('longer than anything'));
    }
  });
});

describe('what is read if it is well-formed', () => {
  it('is undefined where the bytes do not fit, and any other error stays one', () => {
    expect(readIfWellFormed(() => readerOf(word(7)).uint(0))).toBe(7n);
    expect(readIfWellFormed(() => readerOf(word(7)).uint(1))).toBeUndefined();
    const fault = new TypeError('a defect');
    expect(() =>
      readIfWellFormed(() => {
        throw fault;
      }),
    ).toThrow(fault);
  });
});
