import type { StatementSync } from 'node:sqlite';
import type { Clock } from '../primitives/clock.ts';
import { rowCrc } from '../primitives/damage/row-crc.sqlite.ts';
import { LIMIT, type SqliteDatabase } from '../primitives/database.sqlite.ts';

/** How often events that are kept for a time are looked for, and how many are deleted in one go. */
const FORGET_EVERY_MS = 1_000;
const FORGET_AGAIN_MS = 50;
const FORGET_EVENTS_MAX = 500;

/** The events of an embedded event store that are kept for a time, and deleted after it. */
export class ForgottenEvents {
  private readonly insert: StatementSync;
  private readonly due: StatementSync;
  private readonly deleteEvent: StatementSync;
  private readonly remove: StatementSync;
  private timer: NodeJS.Timeout;
  private isClosed = false;

  /** @param store `newest` returns the position of the newest event; `onForgotten` is called when events were deleted */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly store: { newest: () => number; onForgotten: () => void },
  ) {
    database.setUp(() => {
      database.exec(`
      CREATE TABLE IF NOT EXISTS forgotten_events (
        at INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (at, position)
      ) STRICT, WITHOUT ROWID;
    `);
      // Rows had no CRC once.
      database.addColumn('forgotten_events', 'crc', 'INTEGER');
    });
    this.insert = database.prepare('INSERT INTO forgotten_events (at, position, crc) VALUES (?, ?, ?)');
    this.due = database.prepare(
      `SELECT at, position, crc FROM forgotten_events WHERE at <= ? AND position < ? ORDER BY at ${LIMIT}`,
    );
    this.deleteEvent = database.prepare('DELETE FROM events WHERE position = ?');
    this.remove = database.prepare('DELETE FROM forgotten_events WHERE at = ? AND position = ?');
    this.timer = this.forgetIn(FORGET_EVERY_MS);
  }

  /** Within the transaction that stores the event. @param at Unix ms from which on it is deleted */
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

  /** The newest event of the store stays until there is a newer one: its position must not be given again. */
  private async forgetDue(): Promise<number> {
    try {
      const due = this.due.all(this.clock.now(), this.store.newest(), FORGET_EVENTS_MAX);
      if (due.length === 0) return 0;
      await this.database.transaction(() => {
        for (const { at = null, position = null, crc } of due) {
          // Else it could be another event that is deleted.
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
      // The file is locked, or the disk is full, which appends report; or it is damaged, which is said. It is tried again.
      return 0;
    }
  }
}
