import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeFolder } from './make-folder.ts';
import { WakeUp } from './wake-up.ts';

export interface DatabaseOptions {
  /**
   * `FULL`: a commit survives a power failure. `NORMAL`: it survives a crash of the process; for data that can be
   * derived.
   */
  synchronous: 'FULL' | 'NORMAL';
  cacheMiB: number;
}

/** How soon a commit of another process is noticed. */
const FOREIGN_COMMIT_POLL_MS = 20;
/** Pages in the log before it is checkpointed: so rarely that a page that changes often is written once. */
const CHECKPOINT_PAGES = 32_768;
/** How long a write waits for another process's transaction. */
const BUSY_TIMEOUT_MS = 5_000;

/**
 * One SQLite file in WAL mode, shared by the processes of one machine. Its wake-up rings after every commit of any of
 * them.
 */
export class SqliteDatabase {
  readonly changed = new WakeUp();
  private readonly connection: DatabaseSync;
  private readonly poll: NodeJS.Timeout;
  private dataVersion: StatementSync;
  private seenVersion = 0;

  constructor(file: string, options: DatabaseOptions) {
    makeFolder(dirname(file));
    this.connection = new DatabaseSync(file);
    this.connection.exec(`
      PRAGMA busy_timeout = ${String(BUSY_TIMEOUT_MS)};
      PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = ${String(CHECKPOINT_PAGES)};
      PRAGMA synchronous = ${options.synchronous};
      PRAGMA cache_size = -${String(options.cacheMiB * 1024)};
      PRAGMA temp_store = MEMORY;
    `);
    this.dataVersion = this.connection.prepare('PRAGMA data_version');
    this.seenVersion = this.readVersion();
    this.poll = setInterval(() => {
      this.noticeForeignCommits();
    }, FOREIGN_COMMIT_POLL_MS).unref();
  }

  exec(sql: string): void {
    this.connection.exec(sql);
  }

  prepare(sql: string): StatementSync {
    return this.connection.prepare(sql);
  }

  /** Runs `work` in one write transaction: all of it is committed, or nothing. */
  transaction<Result>(work: () => Result): Result {
    this.connection.exec('BEGIN IMMEDIATE');
    let result: Result;
    try {
      result = work();
      this.connection.exec('COMMIT');
    } catch (error) {
      if (this.connection.isTransaction) this.connection.exec('ROLLBACK');
      throw error;
    }
    this.changed.ring();
    return result;
  }

  /** Runs `work` on one snapshot of the database. */
  snapshot<Result>(work: () => Result): Result {
    this.connection.exec('BEGIN');
    try {
      return work();
    } finally {
      this.connection.exec('COMMIT');
    }
  }

  close(): void {
    clearInterval(this.poll);
    if (this.connection.isOpen) this.connection.close();
    this.changed.ring();
  }

  private readVersion(): number {
    return this.dataVersion.get()?.['data_version'] as number;
  }

  private noticeForeignCommits(): void {
    if (!this.changed.isAwaited) return;
    const version = this.readVersion();
    if (version === this.seenVersion) return;
    this.seenVersion = version;
    this.changed.ring();
  }
}
