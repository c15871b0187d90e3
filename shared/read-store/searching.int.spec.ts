import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { QueryBudget } from './query-budget.ts';
import { QueryThread } from './query-thread.sqlite.ts';
import { SqliteReadStore } from './read-store.sqlite.ts';
import { countSql, searchSql } from './search-table.sqlite.ts';

const folder = temporaryFolder();
const file = join(folder, 'read.db');
const someone = () => new QueryBudget({ caller: 'someone' });
/** Takes some milliseconds for each run. */
const LONG =
  'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) SELECT count(*), ? FROM n';
const runs = (count: number) => Array.from({ length: count }, (_, run) => [run]);

describe('a search', () => {
  const shapes = [1, 2, 3].flatMap((terms) => (['asc', 'desc', 'count'] as const).map((shape) => ({ terms, shape })));

  it.each(shapes)('of $terms terms is read from the index alone: $shape', async ({ terms, shape }) => {
    const readStore = new SqliteReadStore(file);
    const one = () => 1;
    await readStore.define([{ name: 'things', indexes: [], search: { segment: one, terms: () => [1], order: one } }]);
    await readStore.close();
    const after = { order: 1, reference: 1 };
    const table = '"things terms"';
    const sql = shape === 'count' ? countSql(table, terms) : searchSql(table, terms, { direction: shape, after });
    const database = new DatabaseSync(file);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(
      ...runs(terms + 6)
        .flat()
        .slice(shape === 'count' ? 3 : 0),
    );
    database.close();
    const steps = plan.map(({ detail }) => String(detail));
    expect(steps[0]).toBe('SEARCH found USING PRIMARY KEY (segment=? AND term=? AND place>? AND place<?)');
    const reads = steps.filter((step) => /^(SEARCH|SCAN) (?!CONSTANT ROW|\(subquery)/.test(step));
    expect(reads.filter((step) => !/^SEARCH .* USING PRIMARY KEY \(segment=\? AND term=\?/.test(step))).toEqual([]);
    // Only the terms themselves are sorted, by how many documents have them.
    expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toHaveLength(terms === 1 ? 0 : 1);
  });
});

describe('the thread of queries', () => {
  const thread = new QueryThread(file);
  afterAll(() => thread.close());

  it('lets this thread work meanwhile', async () => {
    const meanwhile = { ticks: 0, isOver: false };
    const query = thread.slice({ sql: LONG, runs: runs(100) }, someone()).finally(() => {
      meanwhile.isOver = true;
    });
    while (!meanwhile.isOver) {
      meanwhile.ticks += 1;
      await setImmediate();
    }
    await query;
    expect(meanwhile.ticks).toBeGreaterThan(50);
  });

  it('answers others between the slices of a long query', async () => {
    let left = runs(60);
    const slices = { long: 0, whenShortWasAnswered: 0 };
    const long = async () => {
      const budget = new QueryBudget({ caller: 'busy' });
      while (left.length > 0) {
        const { rows, ran } = await thread.slice({ sql: LONG, runs: left }, budget);
        expect(rows).toEqual(left.slice(0, ran).map(([run]) => [20_000, run]));
        left = left.slice(ran);
        slices.long += 1;
      }
    };
    const busy = long();
    await thread.slice({ sql: 'SELECT 1', runs: [[]] }, someone());
    slices.whenShortWasAnswered = slices.long;
    await busy;
    expect(slices.whenShortWasAnswered).toBeLessThanOrEqual(2);
    expect(slices.long).toBeGreaterThan(5);
  });

  it('fails a query that SQLite refuses, and answers the next', async () => {
    await expect(thread.slice({ sql: 'SELECT missing', runs: [[]] }, someone())).rejects.toThrow(
      'a query failed: no such column: missing',
    );
    expect(await thread.slice({ sql: 'SELECT ?', runs: runs(2) }, someone())).toEqual({ rows: [[0], [1]], ran: 2 });
  });

  it('never writes', async () => {
    await expect(thread.slice({ sql: 'CREATE TABLE other (x)', runs: [[]] }, someone())).rejects.toThrow('readonly');
  });

  it('refuses what it has not answered when it ends, and begins again', async () => {
    const query = thread.slice({ sql: LONG, runs: runs(5) }, someone());
    const refused = expect(query).rejects.toMatchObject({ code: 'dependency_unavailable' });
    await setImmediate();
    await thread.close();
    await refused;
    expect(await thread.slice({ sql: 'SELECT 1', runs: [[]] }, someone())).toEqual({ rows: [[1]], ran: 1 });
  });
});
