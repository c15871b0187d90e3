import type { StatementSync } from 'node:sqlite';
import type { Clock } from '../../primitives/clock.ts';
import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import { LIMIT, type SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';

/** Poll interval for expired events, the interval while more are due, and the number deleted in one transaction. */
const FORGET_EVERY_MS = 1_000;
const FORGET_AGAIN_MS = 50;
const FORGET_EVENTS_MAX = 500;

/** Deletes events of an embedded event store once their retention time is over. */
export class ForgottenEvents {
  private readonly insert: StatementSync;
  private readonly due: StatementSync;
  private readonly deleteEvent: StatementSync;
  private readonly remove: StatementSync;
  private timer: NodeJS.Timeout;
  private isClosed = false;

  /**
   * @param store `newest` returns the position of the newest event; `onForgotten` is called after events were deleted
   */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly store: { newest: () => number; onForgotten: () => void },
  ) {
    database.setUp(() => {
      database.exec(`
      CREATE TABLE IF NOT EXISTS forgotten_events (
        at INTEGER NOT NULL, position INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (at, position)
      ) STRICT, WITHOUT ROWID;
    `);
    });
    this.insert = database.prepare('INSERT INTO forgotten_events (at, position, crc) VALUES (?, ?, ?)');
    this.due = database.prepare(
      `SELECT at, position, crc FROM forgotten_events WHERE at <= ? AND position < ? ORDER BY at ${LIMIT}`,
    );
    this.deleteEvent = database.prepare('DELETE FROM events WHERE position = ?');
    this.remove = database.prepare('DELETE FROM forgotten_events WHERE at = ? AND position = ?');
    this.timer = this.forgetIn(FORGET_EVERY_MS);
  }

  /** Runs within the transaction that stores the event. @param at Unix ms from which on the event is deleted */
  add(at: number, position: number): void {
    this.insert.run(at, position, rowCrc([at, position]));
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private forgetIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      void this.forgetDue().then((count) => {
        if (this.isClosed) return;
        this.timer = this.forgetIn(count === FORGET_EVENTS_MAX ? FORGET_AGAIN_MS : FORGET_EVERY_MS);
      });
    }, ms).unref();
  }

  /** Keeps the newest event of the store until there is a newer one, so that its position is not assigned again. */
  private async forgetDue(): Promise<number> {
    try {
      const due = this.due.all(this.clock.now(), this.store.newest(), FORGET_EVENTS_MAX);
      if (due.length === 0) return 0;
      await this.database.transaction(() => {
        for (const { at = null, position = null, crc } of due) {
          // A changed row could name another event, which would be deleted instead.
          this.database.requireRow(
            [at, position],
            crc,
            `the time at which the event at ${String(position)} is deleted`,
          );
          this.deleteEvent.run(position);
          this.remove.run(at, position);
        }
        this.store.onForgotten();
      });
      return due.length;
    } catch {
      // The file is locked or the disk is full, which appends report, or the file is damaged, which `requireRow`
      // reports. The next poll tries again.
      return 0;
    }
  }
}
