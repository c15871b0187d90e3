import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { answerCalls } from '../primitives/answer-calls.ts';
import { PageHits } from './page-hits.ts';
import type { Bounds } from './posting-list.ts';
import type { Search, SearchPage } from './read-store.ts';
import { SegmentSearch, type SearchTables } from './segment-search.sqlite.ts';

/** Runs as a worker: it reads on a connection of its own while the other thread serves requests. */

/** How long others wait for their turn. A single run must not take much longer. */
const SLICE_MS = 2;
const SLICE_ROWS = 5_000;

export type Work = StatementRuns | SegmentRuns;

/** One statement, with one list of parameters after the other. */
export interface StatementRuns {
  sql: string;
  runs: readonly SQLInputValue[][];
}

/** One segment of a table after the other: which documents are on a page, or without a page how many there are. */
export interface SegmentRuns {
  tables: SearchTables;
  runs: Search['anyOf'];
  bounds: Bounds;
  page: Pick<SearchPage, 'direction' | 'limit'> | undefined;
}

export interface Slice {
  /** Of a page none, and of a count one for each run. */
  rows: SQLOutputValue[][];
  /** Place and row of each document of a page, in order. */
  hits?: Float64Array;
  /** How many runs there was time for, at least one. */
  ran: number;
}

const { file } = workerData as { file: string };
const database = new DatabaseSync(file, { readOnly: true });
database.exec('PRAGMA busy_timeout = 100; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;');
const statements = new Map<string, StatementSync>();

const rowsOf = (sql: string, parameters: readonly SQLInputValue[]): SQLOutputValue[][] => {
  let statement = statements.get(sql);
  if (!statement) {
    statement = database.prepare(sql);
    statement.setReturnArrays(true);
    statements.set(sql, statement);
  }
  return statement.all(...parameters) as unknown as SQLOutputValue[][];
};

const searches = new Map<string, SegmentSearch>();

const searchOf = (tables: SearchTables): SegmentSearch => {
  const known = searches.get(tables.postings) ?? new SegmentSearch(rowsOf, tables);
  searches.set(tables.postings, known);
  return known;
};

/** Runs one after the other until the time is over. @returns how many there was time for */
const inTime = <Run>(runs: readonly Run[], rows: readonly unknown[], run: (one: Run) => void): number => {
  const endsAt = performance.now() + SLICE_MS;
  let ran = 0;
  for (const one of runs) {
    run(one);
    ran += 1;
    if (rows.length >= SLICE_ROWS || performance.now() >= endsAt) break;
  }
  return ran;
};

const slice = (work: Work): Slice => {
  const rows: SQLOutputValue[][] = [];
  if ('sql' in work) {
    const ran = inTime(work.runs, rows, (parameters) => rows.push(...rowsOf(work.sql, parameters)));
    return { rows, ran };
  }
  const search = searchOf(work.tables).begin();
  const { page, bounds } = work;
  if (!page) {
    const ran = inTime(work.runs, rows, (segment) => rows.push([search.count(segment, bounds)]));
    return { rows, ran };
  }
  const found = new PageHits(page, bounds);
  const ran = inTime(work.runs, rows, (segment) => {
    const { least = bounds.from, greatest = bounds.to } = segment;
    if (least > found.bounds.to || greatest < found.bounds.from) return;
    found.add(search.hits(segment, { bounds: found.bounds, ...page }));
  });
  return { rows, hits: Float64Array.from(found.list), ran };
};

answerCalls(slice);
