import { describe, expect, it } from '@jest/globals';
import { resolveReferences, type Json } from './json-value.ts';
import { matches } from './pattern.ts';

describe('a pattern', () => {
  it.each<[Json, Json | undefined, boolean]>([
    [1, 1, true],
    [1, '1', false],
    [{ a: 1 }, { a: 1, b: 2 }, true],
    [{ a: 1 }, { b: 2 }, false],
    [{}, null, false],
    [{ a: null }, {}, false],
    [[{}, 2], [{ a: 1 }, 2], true],
    [[1], [1, 2], false],
    [[], [], true],
    [{ $absent: true }, undefined, true],
    [{ $absent: true }, null, true],
    [{ $absent: true }, '', false],
    [{ $absent: false }, '', true],
    [{ $atLeast: 2 }, 2, true],
    [{ $atLeast: 2 }, 1, false],
    [{ $atLeast: 2 }, undefined, false],
    [{ $has: { a: 1 } }, [{ b: 1 }, { a: 1, b: 2 }], true],
    [{ $has: 1 }, [], false],
    [{ $matches: '^a' }, 'ab', true],
    [{ $matches: '^a' }, 1, false],
    [{ $not: 1 }, 2, true],
    [{ $not: 1 }, 1, false],
    [{ $not: 1 }, undefined, false],
    [{ $oneOf: [1, { a: 1 }] }, { a: 1, b: 2 }, true],
    [{ $oneOf: [1] }, 2, false],
    [{ $type: 'array' }, [], true],
    [{ $type: 'string' }, undefined, false],
  ])('%j, and the value %j: %j', (pattern, value, isMatch) => {
    expect(matches(pattern, value)).toBe(isMatch);
  });
});

describe('a reference', () => {
  const values: Record<string, Json> = { a: { list: [{ b: 1 }, { b: 2 }] } };
  const resolve = (value: Json): Json => resolveReferences(value, (name) => values[name]);

  it('is replaced by what it refers to, wherever it is', () => {
    expect(resolve({ x: ['$a.list.1.b', 'text', '$1'], y: '$a.list' })).toEqual({
      x: [2, 'text', '$1'],
      y: [{ b: 1 }, { b: 2 }],
    });
  });

  it.each(['$b', '$a.other', '$a.list.2.b', '$a.list.0.b.c'])('that leads nowhere is told: %s', (reference) => {
    expect(() => resolve([reference])).toThrow(`there is no ${reference}`);
  });
});
