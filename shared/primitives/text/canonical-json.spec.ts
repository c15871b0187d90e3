import { describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { SeededRandom } from '../../testing/simulation/seeded-random.ts';
import { canonicalJson } from './canonical-json.ts';

const NAMES = [
  'a',
  'b',
  'B',
  'ä',
  '€',
  '😂',
  '',
  'a b',
  '"',
  '\\',
  '\u0000',
  '\u2028',
  '10',
  '9',
  '01',
  '-1',
  'toJSON',
];
const TEXTS = [...NAMES, '\\ud800', '\\', '\ufb33', '</script>', '\u007f', '\r\n\t'];
const NUMBERS = [0, -0, 1, -1, 1e21, 1e-7, 333333333.33333329, 4.5, 5e-324, 9007199254740994, 1.7976931348623157e308];

/** A random value of JSON. */
const someValue = (random: SeededRandom, levels: number): JsonValue => {
  const kind = random.between(0, levels > 0 ? 5 : 3);
  if (kind === 0) return random.pick(NUMBERS) ?? 0;
  if (kind === 1) return random.pick([true, false, null]) ?? null;
  if (kind <= 3) return random.pick(TEXTS) ?? '';
  if (kind === 4) return Array.from({ length: random.between(0, 4) }, () => someValue(random, levels - 1));
  return someObject(random, levels);
};

const someObject = (random: SeededRandom, levels: number): JsonObject =>
  Object.fromEntries(random.some(NAMES, 5).map((name): [string, JsonValue] => [name, someValue(random, levels - 1)]));

describe('the JSON text of RFC 8785', () => {
  it('is that of the library, for 5,000 random values', () => {
    const random = new SeededRandom(8785);
    for (let at = 0; at < 5_000; at += 1) {
      const value = someObject(random, 4);
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }
  });

  it.each<[string, object]>([
    ['a member that is the prototype elsewhere', JSON.parse('{"b": 1, "__proto__": {"z": 1, "a": 2}}') as object],
    ['members that are numbers', { 10: 'a', 9: 'b', a: 'c' }],
    ['what JSON leaves out', { b: undefined, a: [undefined, () => 1] }],
    ['a value with a JSON form of its own', { b: new Date(0), a: 1 }],
    ['a list', [{ b: 1, a: 2 }, []]],
    ['deep values', JSON.parse(`${'{"b":[1,'.repeat(2_000)}0${']}'.repeat(2_000)}`) as object],
  ])('is that of the library for %s', (_, value) => {
    expect(canonicalJson(value)).toBe(canonicalize(value));
  });

  it.each<[string, object]>([
    ['half a surrogate pair', { a: '\ud800' }],
    ['half a surrogate pair in a name', { '\udc00': 1 }],
    ['a number that is none', { a: [NaN] }],
    ['a number without end', { a: -Infinity }],
    ['an integer of any size', { a: 1n }],
    ['a value that is in itself', circular()],
  ])('is refused for %s', (_, value) => {
    expect(() => canonicalJson(value)).toThrow();
  });
});

function circular(): object {
  const value: Record<string, unknown> = {};
  return Object.assign(value, { value });
}
