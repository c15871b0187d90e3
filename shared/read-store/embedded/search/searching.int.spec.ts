import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../../schemas/json.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { QueryBudget } from '../../query-budget.ts';
import { CallerUsage } from '../../query-slots.ts';
import { QueryThread, QueryThreads } from '../query-threads.sqlite.ts';
import type { StatementRuns } from '../query-worker.sqlite.ts';
import type { SearchIndex } from '../../read-store.ts';
import { SqliteReadStore } from '../read-store.sqlite.ts';
import { bucketOf, postingsSql } from './segment-search.sqlite.ts';

const folder = temporaryFolder();
const file = join(folder, 'read.db');
const someone = () => new QueryBudget({ caller: 'someone' });
/** Takes some milliseconds for each run. */
const LONG =
  'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) SELECT count(*), ? FROM n';
/** Returns as many rows as end a slice, on any machine. */
const FULL = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) SELECT ? FROM n';
const runs = (count: number) => Array.from({ length: count }, (_, run) => [run]);

const name = 'things';
const index: SearchIndex = {
  segment: (_, { segment }) => Number(segment),
  terms: (_, { terms }) => terms as number[],
  order: (_, { order }) => Number(order),
};
const things = (position: number, from: number, to: number, more: JsonObject = {}) =>
  Array.from({ length: to - from }, (_, at) => ({
    ...{ collection: name, id: String(from + at), position },
    document: { segment: 1, order: from + at, terms: [7, 1_000 + from + at], ...more },
  }));
const openThings = async (file: string) => {
  const readStore = new SqliteReadStore(file);
  await readStore.define([{ name, indexes: [], search: index }]);
  return readStore;
};
const ordersOf = async (readStore: SqliteReadStore, ...terms: number[]) => {
  const search = { anyOf: [{ segment: 1, terms }], from: 0, to: 10_000 };
  const hits = await readStore.search(name, { ...search, direction: 'asc', limit: 1_000 }, someone());
  expect(await readStore.countFound(name, search, someone())).toBe(hits.length);
  return hits.map(({ order }) => order);
};
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
const partsOf = (path: string, segment: number, term: number) => {
  const database = new DatabaseSync(path);
  const parts = database.prepare(postingsSql('"things postings"')).all(segment, bucketOf(term));
  database.close();
  return parts.length;
};

describe('a search', () => {
  it('reads a term of a segment by its key', async () => {
    const readStore = await openThings(file);
    await readStore.close();
    const database = new DatabaseSync(file);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${postingsSql('"things postings"')}`).all(1, 1);
    database.close();
    expect(plan.map(({ detail }) => detail)).toEqual([
      'SEARCH things postings USING PRIMARY KEY (segment=? AND bucket=?)',
    ]);
  });
});

describe('the index of a segment', () => {
  it('has a part for each batch, and is joined when the next segment begins', async () => {
    const path = join(folder, 'parts.db');
    const readStore = await openThings(path);
    for (let at = 0; at < 20; at += 1) await readStore.apply(name, things(1, 5 * at, 5 * at + 5), 1);
    expect(partsOf(path, 1, 7)).toBe(20);
    await readStore.apply(name, things(2, 20, 30, { terms: [8] }), 2);
    expect(await ordersOf(readStore, 7)).toEqual([...numbers(0, 20), ...numbers(30, 100)]);
    await readStore.apply(name, things(3, 200, 201, { segment: 2 }), 3);
    expect(partsOf(path, 1, 7)).toBe(1);
    expect(await ordersOf(readStore, 7)).toEqual([...numbers(0, 20), ...numbers(30, 100)]);
    expect(await ordersOf(readStore, 8)).toEqual(numbers(20, 30));
    await readStore.apply(name, things(4, 0, 100, { terms: [8] }), 4);
    expect(await ordersOf(readStore, 8)).toEqual(numbers(0, 100));
    expect(partsOf(path, 1, 7)).toBe(0);
    await readStore.close();
  });

  it('is joined when the next begins only if it has more parts than a rebuild makes', async () => {
    for (const [parts, joined] of [
      [20, 20],
      [21, 1],
    ] as const) {
      const path = join(folder, `joined-${String(parts)}.db`);
      const readStore = await openThings(path);
      for (let at = 0; at < parts; at += 1) await readStore.apply(name, things(1, 4 * at, 4 * at + 4), 1);
      await readStore.apply(name, things(2, 200, 201, { segment: 2 }), 2);
      expect(partsOf(path, 1, 7)).toBe(joined);
      expect(await ordersOf(readStore, 7)).toEqual(numbers(0, 4 * parts));
      await readStore.close();
    }
  });

  it('has a filter once the next begins, which is of no use when it changes', async () => {
    const path = join(folder, 'filters.db');
    const readStore = await openThings(path);
    const find = async (version: number, ...terms: number[]) => {
      const search = { anyOf: [{ segment: 1, terms, version }], from: 0, to: 10_000 };
      const hits = await readStore.search(name, { ...search, direction: 'asc', limit: 1_000 }, someone());
      expect(await readStore.countFound(name, search, someone())).toBe(hits.length);
      return hits.length;
    };
    const filters = () => {
      const database = new DatabaseSync(path);
      const found = database.prepare('SELECT segment FROM "things filters"').all();
      database.close();
      return found.map(({ segment }) => segment);
    };
    await readStore.apply(name, things(1, 0, 100), 1);
    expect([await find(1, 7), await find(1, 7, 1_050), await find(1, 8)]).toEqual([100, 1, 0]);
    expect(filters()).toEqual([]);
    await readStore.apply(name, things(2, 200, 201, { segment: 2 }), 2);
    expect(filters()).toEqual([1]);
    expect([await find(1, 7), await find(1, 7, 1_050), await find(1, 8)]).toEqual([100, 1, 0]);
    await readStore.apply(name, things(3, 50, 51, { terms: [8] }), 3);
    expect(filters()).toEqual([]);
    expect([await find(3, 7), await find(3, 7, 1_050), await find(3, 8)]).toEqual([99, 0, 1]);
    await readStore.close();
    const reopened = await openThings(path);
    await reopened.apply(name, things(4, 201, 202, { segment: 2 }), 4);
    expect(filters()).toEqual([1]);
    await reopened.close();
  });
});

/** A file that is locked until the spec lets go: a query of it waits in SQLite, and keeps its thread from answering others. */
const lockedFile = async (ask: (work: StatementRuns) => Promise<unknown>) => {
  // A file with a write-ahead log would be readable.
  const lock = new DatabaseSync(locked);
  lock.exec('CREATE TABLE IF NOT EXISTS held (x)');
  await ask({ sql: 'PRAGMA busy_timeout = 60000', runs: [[]] });
  lock.exec('BEGIN EXCLUSIVE');
  return {
    letGo: () => {
      lock.close();
    },
  };
};
const locked = join(folder, 'locked.db');
const HELD = { sql: 'SELECT count(*) FROM held', runs: [[]] };

describe('the thread of queries', () => {
  const thread = new QueryThread(file);
  afterAll(() => thread.close());

  it('lets this thread work meanwhile', async () => {
    const held = new QueryThread(locked);
    const { letGo } = await lockedFile((work) => held.slice(work, someone()));
    let isOver = false;
    const query = held.slice(HELD, someone()).finally(() => {
      isOver = true;
    });
    for (let ticks = 0; ticks < 50; ticks += 1) await setImmediate();
    expect(isOver).toBe(false);
    letGo();
    expect(await query).toEqual({ rows: [[0]], ran: 1 });
    await held.close();
  });

  it('ends a slice before all of its runs when they take long', async () => {
    expect((await thread.slice({ sql: LONG, runs: runs(2_000) }, someone())).ran).toBeLessThan(2_000);
  });

  it('answers others between the slices of a long query', async () => {
    let left = runs(6);
    const slices = { long: 0, whenShortWasAnswered: 0 };
    const long = async () => {
      const budget = new QueryBudget({ caller: 'busy' });
      while (left.length > 0) {
        const { rows, ran } = await thread.slice({ sql: FULL, runs: left }, budget);
        expect(rows).toEqual(Array.from({ length: 5_000 }, () => left[0]));
        left = left.slice(ran);
        slices.long += 1;
      }
    };
    const busy = long();
    await thread.slice({ sql: 'SELECT 1', runs: [[]] }, someone());
    slices.whenShortWasAnswered = slices.long;
    await busy;
    expect(slices).toEqual({ long: 6, whenShortWasAnswered: 1 });
  });

  it('fails a query that SQLite refuses, and answers the next', async () => {
    await expect(thread.slice({ sql: 'SELECT missing', runs: [[]] }, someone())).rejects.toThrow(
      'the thread of queries failed: no such column: missing',
    );
    expect(await thread.slice({ sql: 'SELECT ?', runs: runs(2) }, someone())).toEqual({ rows: [[0], [1]], ran: 2 });
  });

  it('never writes', async () => {
    await expect(thread.slice({ sql: 'CREATE TABLE other (x)', runs: [[]] }, someone())).rejects.toThrow('readonly');
  });

  it('refuses what it has not answered when it is closed, and everything afterwards', async () => {
    const held = new QueryThread(locked);
    const { letGo } = await lockedFile((work) => held.slice(work, someone()));
    const query = held.slice(HELD, someone());
    const refused = expect(query).rejects.toMatchObject({ code: 'dependency_unavailable' });
    await setImmediate();
    const closed = held.close();
    letGo();
    await closed;
    await refused;
    const later = held.slice({ sql: 'SELECT 1', runs: [[]] }, someone());
    await expect(later).rejects.toMatchObject({ code: 'dependency_unavailable' });
  });
});

describe('the threads of queries', () => {
  it('let nobody wait for whoever has used much', async () => {
    const usage = new CallerUsage();
    const threads = new QueryThreads(locked, usage);
    // Usage halves with time. This value stays above the limit even if the machine pauses.
    usage.add('busy', 1e12);
    const busy = (work: StatementRuns) => threads.slice(work, new QueryBudget({ caller: 'busy' }));
    // A thread cannot begin while the file is locked.
    await threads.slice({ sql: 'SELECT 1', runs: [[]] }, someone());
    const { letGo } = await lockedFile(busy);
    const answered: string[] = [];
    const waiting = busy(HELD).then(() => answered.push('busy'));
    // The first caller may have used much: the start of the thread counts.
    await threads.slice({ sql: 'SELECT 1', runs: [[]] }, new QueryBudget({ caller: 'another' }));
    answered.push('another');
    letGo();
    await waiting;
    expect(answered).toEqual(['another', 'busy']);
    await threads.close();
  });
});
