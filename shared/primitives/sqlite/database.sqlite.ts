import { dirname, resolve } from 'node:path';
import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BroadcastChannel } from 'node:worker_threads';
import { CannotStart } from '../errors/cannot-start.ts';
import { nodeErrorCode } from '../errors/node-error-code.ts';
import { Refusal, unavailable } from '../errors/refusal.ts';
import { Backoff } from './backoff.ts';
import { damageIn, damageLine } from './damage/damaged-files.ts';
import { guarded } from './damage/guarded-statement.sqlite.ts';
import { isWhole } from './damage/row-crc.sqlite.ts';
import { makeFolder } from './make-folder.ts';
import { WakeUp } from './wake-up.ts';

export interface DatabaseOptions {
  /**
   * `FULL`: a commit survives a power failure. `NORMAL`: it survives a crash of the process; for data that can be
   * derived.
   */
  synchronous: 'FULL' | 'NORMAL';
  /** At most, of each thread that has the file open. What is not in it is mostly in memory of the system. */
  cacheMiB: number;
  /** Whether deleted and replaced content is written over, so that it is not left in free pages. Default: it is not. */
  erases?: boolean;
}

/** How soon a commit of another process is noticed. */
const FOREIGN_COMMIT_POLL_MS = 20;
/** Pages in the log before it is checkpointed: so rarely that a page that changes often is written once. */
const CHECKPOINT_PAGES = 32_768;
/** SQLite waits for locks with the whole thread: long only at start, when nobody else is served by it. */
const WAIT_AT_START_MS = 5_000;
/** A read waits only for another process that repairs the log after a crash. */
const WAIT_TO_READ_MS = 100;
/** How long a write waits for another process's transaction. Then its outcome is known: nothing was written. */
const WAIT_TO_WRITE_MS = 5_000;
const RETRY_FIRST_MS = 2;
const RETRY_MAX_MS = 50;
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
/** A file up to this size is checked whole when it is opened, with its indexes, which takes some tenths of a second. */
const CHECKED_BYTES_MAX = 32 * 1_024 * 1_024;
/** `LIMIT` with a parameter. Of a bare `LIMIT ?` SQLite plans the statement anew at each call, which takes 7 µs. */
export const LIMIT = 'LIMIT (? + 0)';

/**
 * One SQLite file in WAL mode, shared by the processes of one machine. Its wake-up rings after every commit of any of
 * them: at once, if it is of this process, in whichever thread.
 */
export class SqliteDatabase {
  readonly changed = new WakeUp();
  private readonly connection: DatabaseSync;
  private readonly poll: NodeJS.Timeout;
  private dataVersion: StatementSync;
  private seenVersion = 0;
  private readonly closing = new AbortController();
  private readonly otherThreads: BroadcastChannel;

  constructor(
    private readonly file: string,
    options: DatabaseOptions,
  ) {
    makeFolder(dirname(file));
    this.connection = new DatabaseSync(file);
    this.atStart(() => {
      this.configure(options);
      this.requireWhole();
    });
    this.dataVersion = this.prepare('PRAGMA data_version');
    this.seenVersion = this.foreignVersion;
    this.setBusyTimeout(WAIT_TO_READ_MS);
    this.otherThreads = new BroadcastChannel(`annals ${resolve(file)}`);
    this.otherThreads.onmessage = () => {
      this.changed.ring();
    };
    this.otherThreads.unref();
    this.poll = setInterval(() => {
      this.noticeForeignCommits();
    }, FOREIGN_COMMIT_POLL_MS).unref();
  }

  /** Changes whenever another connection commits, also one of this process. */
  get foreignVersion(): number {
    return this.dataVersion.get()?.['data_version'] as number;
  }

  exec(sql: string): void {
    this.guard(() => {
      this.connection.exec(sql);
    });
  }

  prepare(sql: string): StatementSync {
    const statement = this.guard(() => this.connection.prepare(sql));
    return guarded(statement, this.explained);
  }

  /** Adds a column that a table of before does not have. Within `setUp`. */
  addColumn(table: string, name: string, type: string): void {
    const found = this.connection.prepare('SELECT 1 FROM pragma_table_info(?) WHERE name = ?').get(table, name);
    if (!found) this.connection.exec(`ALTER TABLE "${table.replaceAll('"', '""')}" ADD COLUMN ${name} ${type}`);
  }

  /** @throws Refusal dependency_unavailable if a row is not as it was written */
  requireRow(values: readonly SQLInputValue[], crc: unknown, what: string): void {
    if (!isWhole(values, crc)) throw this.damage(`${what} is not as it was written`);
  }

  /** Reports that this file is damaged; `what` says where. @returns the refusal to throw */
  damage(what: string, cause?: unknown): Refusal {
    return damageIn(this.file, what, cause);
  }

  /** Returns what to throw for an error of SQLite. */
  readonly explained = (error: unknown): unknown => (isCorrupt(error) ? this.damage(messageOf(error), error) : error);

  /**
   * Makes tables at start, in one write transaction. It waits for those of other processes with the whole thread.
   * @throws CannotStart if the file is damaged
   */
  setUp(work: () => void): void {
    this.setBusyTimeout(WAIT_AT_START_MS);
    try {
      this.atStart(() => {
        this.connection.exec('BEGIN IMMEDIATE');
        this.commit(work);
      });
    } finally {
      this.setBusyTimeout(WAIT_TO_READ_MS);
    }
  }

  /**
   * Runs `work` in one write transaction: all of it is committed, or nothing. It is done when this returns, unless another
   * process has the database locked. @throws Refusal dependency_unavailable when it is locked for too long
   */
  async transaction<Result>(work: () => Result, { withinMs = WAIT_TO_WRITE_MS } = {}): Promise<Result> {
    const giveUpAt = performance.now() + withinMs;
    const backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
    for (let locked = this.begin(); locked; locked = this.begin()) {
      if (performance.now() >= giveUpAt) {
        throw unavailable(`${this.file} is locked by another process: end its transaction`, locked);
      }
      await backoff.pause(this.closing.signal);
      if (this.closing.signal.aborted) throw new Refusal('shutting_down', `${this.file} is closed`);
    }
    return this.commit(work);
  }

  /**
   * Empties the log, which still has pages as they were before they were changed. A reader of another process, or of
   * another thread, holds it up: it is tried until it is done, or the database is closed, which empties the log too.
   */
  async emptyLog(): Promise<void> {
    const backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
    while (this.connection.isOpen && !this.truncateLog()) await backoff.pause(this.closing.signal);
  }

  /** Runs `work` on one snapshot of the database. */
  snapshot<Result>(work: () => Result): Result {
    this.exec('BEGIN');
    try {
      return work();
    } finally {
      this.exec('COMMIT');
    }
  }

  close(): void {
    clearInterval(this.poll);
    this.otherThreads.close();
    this.closing.abort();
    if (this.connection.isOpen) this.connection.close();
    this.changed.ring();
  }

  private configure(options: DatabaseOptions): void {
    this.connection.exec(`
      PRAGMA busy_timeout = ${String(WAIT_AT_START_MS)};
      PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = ${String(CHECKPOINT_PAGES)};
      PRAGMA synchronous = ${options.synchronous};
      PRAGMA cache_size = -${String(options.cacheMiB * 1024)};
      PRAGMA temp_store = MEMORY;
      PRAGMA secure_delete = ${options.erases === true ? 'ON' : 'OFF'};
    `);
  }

  private requireWhole(): void {
    if (statSync(this.file).size > CHECKED_BYTES_MAX) return;
    const found = this.connection.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
    if (found !== 'ok') throw new CannotStart(damageLine(this.file, String(found)));
  }

  private guard<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw this.explained(error);
    }
  }

  /** @throws CannotStart if the file is damaged; the connection is closed then */
  private atStart(work: () => void): void {
    try {
      work();
    } catch (error) {
      const isKnown = error instanceof CannotStart || error instanceof Refusal;
      if (!isCorrupt(error) && !isKnown) throw error;
      this.connection.close();
      if (error instanceof CannotStart) throw error;
      // A refusal has the line as its cause: it was made for who sends requests.
      const isLine = error instanceof Refusal && error.cause instanceof Error;
      const line = isLine ? messageOf(error.cause) : damageLine(this.file, messageOf(error));
      throw new CannotStart(line, { cause: error });
    }
  }

  /** Does not wait. @returns the error when another process is writing */
  private begin(): unknown {
    this.setBusyTimeout(0);
    try {
      this.connection.exec('BEGIN IMMEDIATE');
      return undefined;
    } catch (error) {
      if (isBusy(error)) return error;
      throw this.explained(error);
    } finally {
      this.setBusyTimeout(WAIT_TO_READ_MS);
    }
  }

  private commit<Result>(work: () => Result): Result {
    let result: Result;
    try {
      result = work();
      this.connection.exec('COMMIT');
    } catch (error) {
      if (this.connection.isTransaction) this.connection.exec('ROLLBACK');
      throw this.explained(error);
    }
    this.changed.ring();
    this.otherThreads.postMessage(null);
    return result;
  }

  /** Does not wait. @returns whether the log is empty */
  private truncateLog(): boolean {
    this.setBusyTimeout(0);
    try {
      return this.connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
    } catch (error) {
      if (isBusy(error)) return false;
      throw this.explained(error);
    } finally {
      this.setBusyTimeout(WAIT_TO_READ_MS);
    }
  }

  private setBusyTimeout(timeMs: number): void {
    if (this.connection.isOpen) this.connection.exec(`PRAGMA busy_timeout = ${String(timeMs)}`);
  }

  private noticeForeignCommits(): void {
    if (!this.changed.isAwaited) return;
    const version = this.foreignVersion;
    if (version === this.seenVersion) return;
    this.seenVersion = version;
    this.changed.ring();
  }
}

/** Whether another process has the database locked. */
export const isBusy = (error: unknown): boolean => codeOf(error) === SQLITE_BUSY;

/** Whether SQLite found the file damaged, or Node a number in it that nobody has written: it is too large for one. */
export const isCorrupt = (error: unknown): boolean =>
  [SQLITE_CORRUPT, SQLITE_NOTADB].includes(codeOf(error) ?? 0) || nodeErrorCode(error) === 'ERR_OUT_OF_RANGE';

const codeOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;

const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
