import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { QueryBudget } from '../query-budget.ts';
import { SqliteReadStore } from './read-store.sqlite.ts';
import { Postings, storePostings } from './search/stored-postings.ts';

const folder = temporaryFolder();
const name = 'things';
/** More than are compared at a time. */
const COUNT = 1_100;
const BUCKET = 7;
const SEGMENTS = [0, 1, 2];

/** A thing has the term 7, which is in bucket 7, and one of its own. */
const thing = (at: number) => ({
  ...{ collection: name, id: String(at), position: at + 1 },
  document: { segment: at % 3, order: at, terms: [BUCKET, 1_000 + at], isLive: at % 2 === 0, tags: null },
});

describe('the indexes of an embedded read store', () => {
  let file: string;
  let store: SqliteReadStore;
  let round = 0;
  beforeEach(async () => {
    round += 1;
    file = join(folder, `${String(round)}.db`);
    store = new SqliteReadStore(file);
    await store.define([
      {
        ...{ name, indexes: [['isLive'], ['tags'], ['order']] },
        search: {
          segment: (_, { segment }) => Number(segment),
          terms: (_, { terms }) => terms as number[],
          order: (_, { order }) => Number(order),
        },
      },
    ]);
    const all = Array.from({ length: COUNT }, (_, at) => thing(at));
    for (const segment of SEGMENTS) {
      const some = all.filter(({ document }) => document.segment === segment);
      await store.apply(name, some.slice(0, 100), COUNT);
      await store.apply(name, some.slice(100), COUNT);
    }
  });
  afterEach(() => store.close());

  const check = async (repair = false): Promise<string[]> => {
    const ids = new Set<string>();
    for await (const part of store.checkIndexes(name, repair)) for (const id of part) ids.add(id);
    return [...ids].toSorted();
  };
  const inFile = (change: (database: DatabaseSync) => void): void => {
    const database = new DatabaseSync(file);
    change(database);
    database.close();
  };
  const rowOf = (id: string): number => {
    let row = 0;
    inFile((database) => {
      row = database.prepare('SELECT rowid AS row FROM things WHERE id = ?').get(id)?.['row'] as number;
    });
    return row;
  };
  const entries = (...of: readonly [term: number, place: number, row: number][]): Uint8Array => {
    const postings = new Postings();
    for (const entry of of) postings.add(...entry);
    return storePostings(postings);
  };
  const insert = (segment: number, bucket: number, postings: Uint8Array) => {
    inFile((database) => {
      database.prepare('INSERT INTO "things postings" VALUES (?, ?, 99, ?)').run(segment, bucket, postings);
    });
  };
  const found = async (term: number, segment: number): Promise<string[]> => {
    const [anyOf, budget] = [[{ segment, terms: [term] }], new QueryBudget({ caller: 'spec' })];
    const hits = await store.search(name, { anyOf, from: 0, to: 1e6, direction: 'asc', limit: 2_000 }, budget);
    const documents = await store.getFound(
      name,
      hits.map(({ reference }) => reference),
      budget,
    );
    return documents.map(({ id }) => id);
  };
  const idsOf = (segment: number) =>
    Array.from({ length: COUNT }, (_, at) => at)
      .filter((at) => at % 3 === segment)
      .map(String);
  /** Everything fits, and is found as it was stored. */
  const expectWhole = async () => {
    expect(await check()).toEqual([]);
    for (const segment of SEGMENTS) expect(await found(BUCKET, segment)).toEqual(idsOf(segment));
    expect(await store.count(name, { isLive: true })).toBe(COUNT / 2);
  };

  it('fit the documents, also after changes and removals', async () => {
    await expectWhole();
    const { document } = thing(4);
    await store.apply(
      name,
      [{ ...thing(4), position: 2_000, document: { ...document, terms: [9], isLive: false } }],
      2_000,
    );
    await store.correct(name, [{ id: '5', expected: 6, correct: undefined }]);
    expect(await check()).toEqual([]);
    expect(await check(true)).toEqual([]);
  });

  it('lack a document, which is named and then found again', async () => {
    inFile((database) => {
      database.prepare('DELETE FROM "things postings" WHERE segment = 1 AND bucket = ?').run(BUCKET);
    });
    const lost = idsOf(1).toSorted();
    expect(await found(BUCKET, 1)).toEqual([]);
    expect(await check()).toEqual(lost);
    expect(await check()).toEqual(lost);
    expect(await check(true)).toEqual(lost);
    await expectWhole();
  });

  it('find a document by what it does not have, at another place, twice, in another segment, or one that is not there', async () => {
    insert(0, BUCKET, entries([BUCKET + 256, 3, rowOf('3')], [BUCKET, 7_777, rowOf('6')], [BUCKET, 9, rowOf('9')]));
    insert(2, BUCKET, entries([BUCKET, 1, rowOf('1')], [BUCKET, 1, 5_555]));
    const wrong = ['1', '3', '6', '9', 'segment 2, row 5555'];
    expect(await check()).toEqual(wrong);
    expect(await check(true)).toEqual(wrong);
    await expectWhole();
  });

  it('cannot be read: what is lost is made anew', async () => {
    inFile((database) => {
      database
        .prepare('UPDATE "things postings" SET postings = ? WHERE segment = 2 AND part = 1')
        .run(new Uint8Array(20));
    });
    expect(await check()).toContain(`segment 2, bucket ${String(BUCKET)}`);
    expect((await check(true)).length).toBeGreaterThan(100);
    await expectWhole();
  });

  it('have a filter that denies a term', async () => {
    inFile((database) => {
      database.prepare('UPDATE "things filters" SET filter = ? WHERE segment = 0').run(new Uint8Array(1_024));
    });
    expect(await check()).toEqual(['the filter of segment 0']);
    expect(await check(true)).toEqual(['the filter of segment 0']);
    await expectWhole();
  });

  it('have a column with another value than the document', async () => {
    inFile((database) => {
      const row = database
        .prepare('SELECT id, position, document, "isLive", tags, "order" FROM things WHERE id = ?')
        .get('8');
      const { id, position, document, tags, order } = row as Record<string, string>;
      const crc = rowCrc([id ?? '', position ?? '', document ?? '', 0, tags ?? null, order ?? '']);
      database.prepare('UPDATE things SET "isLive" = 0, crc = ? WHERE id = ?').run(crc, '8');
    });
    expect(await store.count(name, { isLive: true })).toBe(COUNT / 2 - 1);
    expect(await check()).toEqual(['8']);
    expect(await check(true)).toEqual(['8']);
    await expectWhole();
  });
});
