import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';
import { answerCalls } from '../../primitives/threads/answer-calls.ts';
import { PageHits } from '../page-hits.ts';
import type { Bounds } from './search/posting-list.ts';
import type { Search, SearchPage } from '../read-store.ts';
import { SegmentSearch, type SearchTables } from './search/segment-search.sqlite.ts';

/** Runs as a worker: reads on a connection of its own while the main thread serves requests. */

/** Length of a slice, after which other queries get their turn. A single run must not take much longer. */
const SLICE_MS = 2;
const SLICE_ROWS = 5_000;

export type Work = StatementRuns | SegmentRuns;

/** One statement, run with each list of parameters in turn. */
export interface StatementRuns {
  sql: string;
  runs: readonly SQLInputValue[][];
}

/** Segments of a table, one after the other: finds the documents of a page, or counts documents if there is no page. */
export interface SegmentRuns {
  tables: SearchTables;
  runs: Search['anyOf'];
  bounds: Bounds;
  page: Pick<SearchPage, 'direction' | 'limit'> | undefined;
}

export interface Slice {
  /** Empty for a page; one row per run for a count. */
  rows: SQLOutputValue[][];
  /** Order value and row of each document of a page, in order. */
  hits?: Float64Array;
  /** How many runs fitted into the slice, at least one. */
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

/** Runs one after the other until the slice ends. @returns how many were run */
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
