import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Runs as a worker: it reads on a connection of its own while the other thread serves requests. */

/** How long others wait for their turn. A single run of a statement must not take much longer. */
const SLICE_MS = 2;
const SLICE_ROWS = 5_000;

export interface Work {
  sql: string;
  /** The parameters of each run, in order. */
  runs: readonly SQLInputValue[][];
}

export interface Slice {
  rows: SQLOutputValue[][];
  /** How many runs there was time for, at least one. */
  ran: number;
}

export interface WorkFailed {
  message: string;
  errcode: number | undefined;
}

const { file } = workerData as { file: string };
const database = new DatabaseSync(file, { readOnly: true });
database.exec('PRAGMA busy_timeout = 100; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;');
const statements = new Map<string, StatementSync>();

const statement = (sql: string): StatementSync => {
  const known = statements.get(sql);
  if (known) return known;
  const prepared = database.prepare(sql);
  prepared.setReturnArrays(true);
  statements.set(sql, prepared);
  return prepared;
};

const slice = ({ sql, runs }: Work): Slice => {
  const endsAt = performance.now() + SLICE_MS;
  const rows: SQLOutputValue[][] = [];
  let ran = 0;
  for (const parameters of runs) {
    rows.push(...(statement(sql).all(...parameters) as unknown as SQLOutputValue[][]));
    ran += 1;
    if (rows.length >= SLICE_ROWS || performance.now() >= endsAt) break;
  }
  return { rows, ran };
};

parentPort?.on('message', (work: Work) => {
  try {
    parentPort?.postMessage(slice(work));
  } catch (error) {
    const { message, errcode } = error as Error & Partial<WorkFailed>;
    parentPort?.postMessage({ message, errcode } satisfies WorkFailed);
  }
});
