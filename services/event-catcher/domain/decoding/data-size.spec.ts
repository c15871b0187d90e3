import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../schemas/json.ts';
import { charactersThatFit, DATA_BYTES_MAX, isTooLarge, truncatedData } from './data-size.ts';

const FITTING = charactersThatFit([]);
/** The data of a log that is long enough to be measured. */
const LONG_DATA = '0x'.padEnd(10_000, '0');
/** Adds a text that gives the object this size as JSON. */
const filledTo = (bytes: number, rest: JsonObject): JsonObject => {
  const without = Buffer.byteLength(JSON.stringify({ ...rest, filling: '' }));
  return { ...rest, filling: 'x'.repeat(bytes - without) };
};

describe('a decoded log', () => {
  it.each<[string, JsonObject]>([
    ['text', {}],
    ['characters of several bytes, and those that JSON escapes', { a: 'é🏝', b: '"\0\n' }],
    ['null, booleans and numbers', { a: null, b: true, c: 7 }],
    ['an empty list and an empty object', { a: [], b: {} }],
    ['lists', { a: [1], b: [1, 2, 3], c: [['x'], []] }],
    ['objects', { a: { b: 1 }, c: { d: { e: 'f' }, g: 'é' } }],
  ])('may have exactly 256 KiB as JSON: %s', (_, rest) => {
    expect(isTooLarge(filledTo(DATA_BYTES_MAX, rest), LONG_DATA, FITTING)).toBe(false);
    expect(isTooLarge(filledTo(DATA_BYTES_MAX + 1, rest), LONG_DATA, FITTING)).toBe(true);
  });

  it('is not measured if the data of the log is so short that it always fits', () => {
    const large = filledTo(DATA_BYTES_MAX + 1, {});
    expect(isTooLarge(large, '0x'.padEnd(2 + 100 * 64, '0'), FITTING)).toBe(false);
    expect(isTooLarge(large, '0x'.padEnd(2 + 100 * 64 + 1, '0'), FITTING)).toBe(true);
  });

  it('is always measured if a parameter of its event has a name of more than 128 characters, however deep', () => {
    const nested = (length: number) => ({
      name: 'a',
      type: 'tuple',
      components: [{ name: 'n'.repeat(length), type: 'bool' }],
    });
    expect(charactersThatFit([nested(128)])).toBe(FITTING);
    expect(charactersThatFit([nested(1), { name: 'n'.repeat(129), type: 'bool' }])).toBe(0);
    expect(charactersThatFit([nested(129)])).toBe(0);
  });

  it('is measured only until it is too large', () => {
    const unread = {
      get: () => {
        throw new Error('it was measured to its end');
      },
    };
    const large = 'x'.repeat(DATA_BYTES_MAX);
    const list = Object.defineProperty([large, ''], 1, unread);
    expect(isTooLarge({ list }, LONG_DATA, FITTING)).toBe(true);
    const inside = Object.defineProperty({ value: '' }, 'value', { ...unread, enumerable: true });
    expect(isTooLarge({ large, inside }, LONG_DATA, FITTING)).toBe(true);
    const many = Object.defineProperty(Array<string>(DATA_BYTES_MAX).fill(''), 0, unread);
    expect(isTooLarge({ many }, LONG_DATA, FITTING)).toBe(true);
  });
});

it('a log that is too large is stored with its topics, its first 1,024 bytes, and the length and hash of its data', () => {
  const topics = ['0x01'];
  const data = `0x${'00'.repeat(2_000)}`;
  expect(truncatedData({ topics, data })).toEqual({
    raw: { topics, data: `0x${'00'.repeat(1_024)}`, bytes: 2_000, hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
    error: expect.stringContaining('262144 bytes'),
  });
  // keccak-256 of no bytes.
  const nothing = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470';
  expect(truncatedData({ topics, data: '0x' })).toMatchObject({ raw: { data: '0x', bytes: 0, hash: nothing } });
});
