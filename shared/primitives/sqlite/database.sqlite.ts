import { dirname, resolve } from 'node:path';
import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BroadcastChannel } from 'node:worker_threads';
import { CannotStart } from '../../errors/cannot-start.ts';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import { Backoff } from '../waiting/backoff.ts';
import { damageIn, damageLine } from './damage/damaged-files.ts';
import { guarded } from './damage/guarded-statement.sqlite.ts';
import { isWhole } from './damage/row-crc.sqlite.ts';
import { makeFolder } from '../files/make-folder.ts';
import { WakeUp } from '../waiting/wake-up.ts';
import { ForeignCommits } from './foreign-commits.ts';
import { isBusy, isCorrupt, messageOf } from './sqlite-errors.ts';

export interface DatabaseOptions {
  /**
   * `FULL`: a commit survives a power failure. `NORMAL`: it survives a crash of the process; for data that can be
   * derived.
   */
  synchronous: 'FULL' | 'NORMAL';
  /** Maximum page cache of each thread that opens the file. The system's cache usually has the rest. */
  cacheMiB: number;
  /** Whether deleted and replaced content is overwritten, so that free pages keep nothing of it. Default `false`. */
  erases?: boolean;
}

/** Pages in the write-ahead log before a checkpoint. So many that a page which changes often is written once. */
const CHECKPOINT_PAGES = 32_768;
/** After so long without a commit of this connection, the write-ahead log is copied into the file. */
const IDLE_MS = 60_000;
/**
 * While SQLite waits for a lock, it blocks the thread. A long wait is acceptable only at start, before anybody is
 * served.
 */
const WAIT_AT_START_MS = 5_000;
/** A read waits only while another process repairs the log after a crash. */
const WAIT_TO_READ_MS = 100;
/** How long a write waits for another process's transaction. A timeout has a known outcome: nothing was written. */
const WAIT_TO_WRITE_MS = 5_000;
const RETRY_FIRST_MS = 2;
const RETRY_MAX_MS = 50;
/**
 * Up to this size, a file is checked completely when it is opened, with its indexes. That takes some tenths of a
 * second.
 */
const CHECKED_BYTES_MAX = 32 * 1_024 * 1_024;
/** `LIMIT` with a parameter. SQLite would prepare a bare `LIMIT ?` anew at each call, which takes 7 µs. */
export const LIMIT = 'LIMIT (? + 0)';

/**
 * One SQLite file in WAL mode, shared by the processes of one machine. `changed` rings after every commit of any of
 * them, and immediately after a commit of this process, in all its threads.
 */
export class SqliteDatabase {
  readonly changed = new WakeUp();
  private readonly connection: DatabaseSync;
  private readonly foreign: ForeignCommits;
  private idle: NodeJS.Timeout | undefined;
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
    this.foreign = new ForeignCommits(`${file}-wal`, () => this.noticeForeignCommits());
  }

  /** Changes with every commit of another connection, including other connections of this process. */
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

  /** @throws Refusal dependency_unavailable if a row is not as it was written */
  requireRow(values: readonly SQLInputValue[], crc: unknown, what: string): void {
    if (!isWhole(values, crc)) throw this.damage(`${what} is not as it was written`);
  }

  /** Reports that this file is damaged; `what` names the place. @returns the refusal to throw */
  damage(what: string, cause?: unknown): Refusal {
    return damageIn(this.file, what, cause);
  }

  /** Translates an error of SQLite into the error to throw. */
  readonly explained = (error: unknown): unknown => (isCorrupt(error) ? this.damage(messageOf(error), error) : error);

  /**
   * Creates tables at start, in one write transaction. Blocks the thread while other processes hold the lock.
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
   * Runs `work` in one write transaction: commits all of it, or nothing. Synchronous, unless another process has the
   * database locked.
   * @throws Refusal dependency_unavailable when it is locked for too long
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
   * Truncates the write-ahead log, which still holds former versions of pages. A reader in another process or thread
   * delays that: retries until it succeeds or the database is closed, which truncates the log too.
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
    this.foreign.close();
    clearTimeout(this.idle);
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
      // Prefers the line in the refusal's cause: the refusal itself is worded for callers of the API.
      const isLine = error instanceof Refusal && error.cause instanceof Error;
      const line = isLine ? messageOf(error.cause) : damageLine(this.file, messageOf(error));
      throw new CannotStart(line, { cause: error });
    }
  }

  /** Does not wait. @returns the error if another process is writing */
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
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      this.copyLog();
    }, IDLE_MS).unref();
    this.changed.ring();
    this.otherThreads.postMessage(null);
    return result;
  }

  /** Copies the write-ahead log into the file, as far as no reader needs former pages. Does not wait. */
  private copyLog(): void {
    try {
      this.connection.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch (error) {
      // Reports a damaged file. Nothing is lost: the log stays, and the next commit reports a full disk.
      this.explained(error);
    }
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

  /** @returns whether there was a commit that somebody waits for */
  private noticeForeignCommits(): boolean {
    if (!this.changed.isAwaited) return false;
    const version = this.foreignVersion;
    if (version === this.seenVersion) return false;
    this.seenVersion = version;
    this.changed.ring();
    return true;
  }
}
