import { describe, expect, it } from '@jest/globals';
import { isParsable } from './json-shape.ts';

const nested = (depth: number, inside = ''): string => '['.repeat(depth) + inside + ']'.repeat(depth);

describe('JSON that is not parsed yet', () => {
  it.each([
    ['64 levels', nested(64), true],
    ['65 levels', nested(65), false],
    ['65 levels of objects', '{"a":'.repeat(65), false],
    ['brackets without an end', '['.repeat(1_000_000), false],
    ['many lists beside each other', `[${'[],'.repeat(1_000)}{}]`, true],
    ['brackets in a text', JSON.stringify('['.repeat(100)), true],
    ['brackets in a text behind an escaped quote', JSON.stringify(`"\\${'['.repeat(100)}`), true],
    ['65 levels behind a text that ends with a backslash', `["\\\\",${nested(65)}]`, false],
    ['65 levels in a member behind an escaped quote', `{"\\"":${nested(65)}}`, false],
    ['nothing', '', true],
  ])('with %s is parsable: %#', (_, text, expected) => {
    expect(isParsable(Buffer.from(text))).toBe(expected);
  });

  it('has as many values as it has members, items, lists and objects', () => {
    const text = Buffer.from('[1,"a,b",{"c":[]}]');
    expect([isParsable(text, 6), isParsable(text, 5)]).toEqual([true, false]);
  });
});
