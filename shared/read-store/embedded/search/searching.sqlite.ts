import type { SQLInputValue } from 'node:sqlite';
import type { SqliteCollection } from '../collection.sqlite.ts';
import { PageHits } from '../../page-hits.ts';
import type { Bounds } from './posting-list.ts';
import type { QueryBudget } from '../../query-budget.ts';
import { QueryThreads } from '../query-threads.sqlite.ts';
import type { Slice, Work } from '../query-worker.sqlite.ts';
import type { SearchTables } from './segment-search.sqlite.ts';
import { rangeAfter, type Hit, type ReadStore, type Search, type StoredDocument } from '../../read-store.ts';

/**
 * Runs in the first call to the thread; then twice the number that fitted into the last slice. The rest is sent again.
 */
const RUNS_FIRST = 128;
const RUNS_MAX = 2_048;

/** Searches in the collections of one file. */
export class Searching {
  private readonly threads: QueryThreads;

  constructor(file: string) {
    this.threads = new QueryThreads(file);
  }

  async hits(
    collection: SqliteCollection,
    { anyOf, direction, limit, after, ...range }: Parameters<ReadStore['search']>[1],
    budget: QueryBudget,
  ): Promise<Hit[]> {
    const page = { direction, limit };
    const found = new PageHits(page, boundsOf({ ...range, ...rangeAfter(range, direction, after) }, direction, after));
    const tables = tablesOf(collection);
    for (let [at, amount] = [0, RUNS_FIRST]; at < anyOf.length && limit > 0;) {
      const runs = anyOf.slice(at, at + amount);
      const { hits, ran } = await this.threads.slice({ tables, runs, bounds: found.bounds, page }, budget);
      found.add([...(hits ?? [])]);
      at += ran;
      amount = Math.min(RUNS_MAX, 2 * ran);
    }
    const hits = found.list.flatMap((order, at) =>
      at % 2 === 0 ? [{ order, reference: found.list[at + 1] ?? 0 }] : [],
    );
    return direction === 'asc' ? hits : hits.reverse();
  }

  async count(collection: SqliteCollection, { anyOf, ...range }: Search, budget: QueryBudget): Promise<number> {
    const [tables, bounds] = [tablesOf(collection), boundsOf(range, 'asc', undefined)];
    const counts = await this.rows(anyOf, (runs) => ({ tables, runs, bounds, page: undefined }), budget);
    return counts.reduce((total, [count]) => total + (count as number), 0);
  }

  async documents(
    { table, selected, toStored }: SqliteCollection,
    references: readonly Hit['reference'][],
    budget: QueryBudget,
  ): Promise<StoredDocument[]> {
    const sql = `SELECT ${selected} FROM ${table} WHERE rowid = ?`;
    const parameters: SQLInputValue[][] = references.map((row) => [row]);
    return (await this.rows(parameters, (runs) => ({ sql, runs }), budget)).map(toStored);
  }

  close(): Promise<void> {
    return this.threads.close();
  }

  /** Returns the rows of all runs, which are few. */
  private async rows<Run>(
    runs: readonly Run[],
    workOf: (some: Run[]) => Work,
    budget: QueryBudget,
  ): Promise<Slice['rows']> {
    const rows: Slice['rows'] = [];
    for (let [at, amount] = [0, RUNS_FIRST]; at < runs.length;) {
      const slice = await this.threads.slice(workOf(runs.slice(at, at + amount)), budget);
      rows.push(...slice.rows);
      at += slice.ran;
      amount = Math.min(RUNS_MAX, 2 * slice.ran);
    }
    return rows;
  }
}

const tablesOf = ({ terms }: SqliteCollection): SearchTables => {
  if (!terms) throw new Error('the collection has no search index');
  return terms.tables;
};

/** Returns the part of a range after a document. */
const boundsOf = (
  { from, to }: Pick<Search, 'from' | 'to'>,
  direction: 'asc' | 'desc',
  after: Hit | undefined,
): Bounds => {
  const bounds = { from, fromRow: 0, to, toRow: Number.MAX_SAFE_INTEGER };
  if (!after) return bounds;
  const row = Number(after.reference);
  return direction === 'asc' && after.order === from
    ? { ...bounds, fromRow: row + 1 }
    : direction === 'desc' && after.order === to
      ? { ...bounds, toRow: row - 1 }
      : bounds;
};
