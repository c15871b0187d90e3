import type { SQLInputValue } from 'node:sqlite';
import type { SqliteCollection } from './collection.sqlite.ts';
import type { QueryBudget } from './query-budget.ts';
import { QueryThread } from './query-thread.sqlite.ts';
import type { Slice } from './query-worker.sqlite.ts';
import { rangeAfter, type Hit, type ReadStore, type Search, type StoredDocument } from './read-store.ts';
import { countSql, searchSql } from './search-table.sqlite.ts';

/** What there is no time for is sent to the thread again. */
const RUNS_MAX = 128;

/** Searches in the collections of one file. */
export class Searching {
  private readonly thread: QueryThread;

  constructor(file: string) {
    this.thread = new QueryThread(file);
  }

  async hits(
    collection: SqliteCollection,
    { anyOf, direction, limit, after, ...search }: Parameters<ReadStore['search']>[1],
    budget: QueryBudget,
  ): Promise<Hit[]> {
    const sign = direction === 'asc' ? 1 : -1;
    const sql = searchSql(tableOf(collection), termsOf(anyOf), { direction, after });
    const afterHit = after ? [after.order, after.reference] : [];
    let hits: [order: number, row: number][] = [];
    let range = rangeAfter(search, direction, after);
    for (let at = 0; at < anyOf.length;) {
      const runs = anyOf.slice(at, at + RUNS_MAX).map((one) => [...parameters(one, range), ...afterHit, limit]);
      const { rows, ran } = await this.thread.slice({ sql, runs }, budget);
      hits = [...hits, ...(rows as typeof hits)]
        .sort((one, other) => sign * (one[0] - other[0] || one[1] - other[1]))
        .slice(0, limit);
      // What comes after the last of enough hits is not wanted any more.
      const last = hits.length === limit ? hits.at(-1)?.[0] : undefined;
      if (last !== undefined) range = direction === 'asc' ? { ...range, to: last } : { ...range, from: last };
      at += ran;
    }
    return hits.map(([order, reference]) => ({ order, reference }));
  }

  async count(collection: SqliteCollection, { anyOf, from, to }: Search, budget: QueryBudget): Promise<number> {
    const runs = anyOf.map((one) => parameters(one, { from, to }));
    const counts = await this.rows(countSql(tableOf(collection), termsOf(anyOf)), runs, budget);
    return counts.reduce((total, [count]) => total + (count as number), 0);
  }

  async documents(
    { table, selected, toStored }: SqliteCollection,
    references: readonly Hit['reference'][],
    budget: QueryBudget,
  ): Promise<StoredDocument[]> {
    const sql = `SELECT ${selected} FROM ${table} WHERE rowid = ?`;
    const rows = await this.rows(
      sql,
      references.map((row) => [row]),
      budget,
    );
    return rows.map(toStored);
  }

  close(): Promise<void> {
    return this.thread.close();
  }

  /** Returns the rows of all runs, which are few. */
  private async rows(sql: string, runs: readonly SQLInputValue[][], budget: QueryBudget): Promise<Slice['rows']> {
    const rows: Slice['rows'] = [];
    for (let at = 0; at < runs.length;) {
      const slice = await this.thread.slice({ sql, runs: runs.slice(at, at + RUNS_MAX) }, budget);
      rows.push(...slice.rows);
      at += slice.ran;
    }
    return rows;
  }
}

const tableOf = ({ terms }: SqliteCollection): string => {
  if (!terms) throw new Error('the collection has no search index');
  return terms.table;
};

const termsOf = (anyOf: Search['anyOf']): number => anyOf[0]?.terms.length ?? 0;

const parameters = (
  { segment, terms }: Search['anyOf'][number],
  { from, to }: Pick<Search, 'from' | 'to'>,
): number[] => [segment, from, to, ...terms];
