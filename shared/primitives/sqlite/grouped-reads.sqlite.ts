import { inPieces } from '../in-pieces.ts';
import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { SqliteDatabase } from './database.sqlite.ts';

/** Maximum rows read before other work of the process gets its turn. */
const ROWS_MAX = 500;

type Row = Record<string, SQLOutputValue>;

interface PendingRead {
  /** @returns how many rows were read */
  read: () => number;
  reject: (error: unknown) => void;
}

/** Runs the reads of one tick in one snapshot: the locks of a snapshot take as long as a read itself. */
export class GroupedReads {
  private pending: PendingRead[] = [];

  constructor(private readonly database: SqliteDatabase) {}

  /** Finds at most one row for each parameter. Rows come in the order of the parameters. */
  async rowsOfEach(statement: StatementSync, parameters: readonly SQLInputValue[]): Promise<Row[]> {
    const rows: Row[] = [];
    for (const some of inPieces(parameters, ROWS_MAX)) {
      const found = await this.add((resolve: (found: Row[]) => void) => {
        resolve(some.map((parameter) => statement.get(parameter)).filter((row) => row !== undefined));
        return some.length;
      });
      rows.push(...found);
    }
    return rows;
  }

  /**
   * Passes the rows to `read`, which returns the number of events that it took. That number counts towards `ROWS_MAX`.
   */
  rows(
    statement: StatementSync,
    parameters: readonly SQLInputValue[],
    read: (rows: Iterable<Row>) => number,
  ): Promise<void> {
    return this.add((resolve: () => void) => {
      const count = read(statement.iterate(...parameters));
      resolve();
      return count;
    });
  }

  /** Answers the pending reads. */
  close(): void {
    this.answer(Infinity);
  }

  private add<Result>(read: (resolve: (result: Result) => void) => number): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    if (this.pending.length === 0) this.answerLater();
    this.pending.push({ read: () => read(resolve), reject });
    return promise;
  }

  private answerLater(): void {
    setImmediate(() => {
      this.answer(ROWS_MAX);
    });
  }

  private answer(rowsMax: number): void {
    const reads = this.pending;
    let answered = 0;
    let count = 0;
    try {
      this.database.snapshot(() => {
        for (; answered < reads.length && count < rowsMax; answered += 1) {
          count += reads[answered]?.read() ?? 0;
        }
      });
    } catch (error) {
      for (const { reject } of reads.splice(answered)) reject(error);
    }
    this.pending = reads.slice(answered);
    if (this.pending.length > 0) this.answerLater();
  }
}
