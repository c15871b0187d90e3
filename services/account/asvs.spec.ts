import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const TABLE = 'services/account/asvs-5.0.md';
const root = join(import.meta.dirname, '../..');

/** How many requirements of levels 1 and 2 each section has; those of level 3 come last in each. */
const REQUIREMENTS = {
  ...{ '6.1': 3, '6.2': 12, '6.3': 4, '6.4': 4, '6.5': 5, '6.6': 3, '6.8': 4 },
  ...{ '7.1': 3, '7.2': 4, '7.3': 2, '7.4': 5, '7.5': 2, '7.6': 2 },
  ...{ '8.1': 2, '8.2': 3, '8.3': 1, '8.4': 1, '9.1': 3, '9.2': 4 },
  ...{ '10.1': 2, '10.2': 2, '10.3': 4, '10.4': 11, '10.5': 5, '10.6': 2, '10.7': 3 },
};

const ROW = /^\| (\d+\.\d+\.\d+) +\| [12] +\| [^|]+ \| ([^|]+) \|$/gm;
const EVIDENCE = /`([^`]+)`((?: "[^"]+")+)/g;
const WHY_NOT = /^(Does not apply|Open): .+\.$/;
/** The title of a test, or of a table of them, which stands behind the table. */
const TITLE = /(?:\bit\(|\)\()\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

/** Returns what a cell names and is not there, and the cell itself if it says nothing. */
const goneOf = (cell: string, read: (file: string) => string | undefined): string[] => {
  const evidence = [...cell.matchAll(EVIDENCE)];
  if (evidence.length === 0) return WHY_NOT.test(cell) ? [] : [cell];
  return evidence.flatMap(([, file = '', names = '']) => {
    const text = read(file);
    return Array.from(names.matchAll(/"([^"]+)"/g), ([, name = '']) => name)
      .filter((name) => text === undefined || !isIn(file, text, name))
      .map((name) => `${file}: ${name}`);
  });
};

const isIn = (file: string, text: string, name: string): boolean => {
  // A sentence of a document, which has line breaks. A row of the table of requirements is none.
  if (file.endsWith('.md'))
    return text
      .replaceAll(/^\|.*$/gm, '')
      .replaceAll(/\s+/g, ' ')
      .includes(name);
  const [title = '', row] = name.split(' / ');
  const titles = Array.from(text.matchAll(TITLE), ([, , found = '']) => found.replaceAll(/\\(.)/g, '$1'));
  return titles.includes(title) && (row === undefined || text.includes(`'${row}'`));
};

const readFile = (file: string): string | undefined => {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
};

describe('the table of ASVS 5.0', () => {
  const rows = Array.from(readFileSync(join(root, TABLE), 'utf8').matchAll(ROW), ([, number = '', cell = '']) => ({
    number,
    cell: cell.trim(),
  }));

  it('has each requirement of levels 1 and 2 in chapters 6 to 10 once', () => {
    const expected = Object.entries(REQUIREMENTS).flatMap(([section, count]) =>
      Array.from({ length: count }, (_, at) => `${section}.${String(at + 1)}`),
    );
    expect(rows.map(({ number }) => number)).toEqual(expected);
  });

  it('names tests that exist, or says why there are none', () => {
    const texts = new Map<string, string | undefined>();
    const read = (file: string) => {
      if (!texts.has(file)) texts.set(file, readFile(file));
      return texts.get(file);
    };
    expect(rows.flatMap(({ number, cell }) => goneOf(cell, read).map((gone) => `${number} ${gone}`))).toEqual([]);
  });
});

describe('what is gone', () => {
  const text = `
    it('is there', () => {});
    it.each([['a row', 1]])('has %s', () => {});
    it.each(['x'])(
      'is an app\\'s %s',
      () => {},
    );
    it.skip('is skipped', () => {});`;
  const files = new Map([
    ['a.spec.ts', text],
    ['a.md', 'It is\nwritten.\n| "It is not." |'],
  ]);
  const read = (file: string) => files.get(file);

  it.each([
    ['a test', '`a.spec.ts` "is there"', []],
    ['a row of a table', '`a.spec.ts` "has %s / a row" "is an app\'s %s"', []],
    ['a sentence', '`a.md` "It is written."', []],
    ['nothing, with the reason', 'Open: it does not.', []],
    ['a test that is not there', '`a.spec.ts` "is there" "is gone"', ['a.spec.ts: is gone']],
    ['a test that is skipped', '`a.spec.ts` "is skipped"', ['a.spec.ts: is skipped']],
    ['a row that is not there', '`a.spec.ts` "has %s / a column"', ['a.spec.ts: has %s / a column']],
    ['a file that is not there', '`b.spec.ts` "is there"', ['b.spec.ts: is there']],
    ['a sentence that is not there', '`a.md` "It is not."', ['a.md: It is not.']],
    ['nothing', 'Of course.', ['Of course.']],
  ])('is named of %s', (_, cell, gone) => {
    expect(goneOf(cell, read)).toEqual(gone);
  });
});
