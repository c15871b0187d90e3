import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { SqliteDatabase } from './database.sqlite.ts';

/** The most rows that are read before other work of the process goes on. */
const ROWS_MAX = 500;

type Row = Record<string, SQLOutputValue>;

interface PendingRead {
  statement: StatementSync;
  parameters: readonly SQLInputValue[];
  resolve: (rows: Row[]) => void;
  reject: (error: unknown) => void;
}

/** Reads of one tick of the event loop share a snapshot: its locks take as long as a read itself. */
export class GroupedReads {
  private pending: PendingRead[] = [];

  constructor(private readonly database: SqliteDatabase) {}

  rows(statement: StatementSync, parameters: readonly SQLInputValue[]): Promise<Row[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    if (this.pending.length === 0) this.answerLater();
    this.pending.push({ statement, parameters, resolve, reject });
    return promise;
  }

  /** Answers those that are pending. */
  close(): void {
    this.answer(Infinity);
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
          const read = reads[answered];
          const rows = read?.statement.all(...read.parameters) ?? [];
          read?.resolve(rows);
          count += rows.length;
        }
      });
    } catch (error) {
      for (const { reject } of reads.splice(answered)) reject(error);
    }
    this.pending = reads.slice(answered);
    if (this.pending.length > 0) this.answerLater();
  }
}
