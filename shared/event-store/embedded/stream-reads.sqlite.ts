import type { StatementSync } from 'node:sqlite';
import { LIMIT, type SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { GroupedReads } from '../../primitives/sqlite/grouped-reads.sqlite.ts';
import { EVENT_COLUMNS, type EventRows } from './event-rows.sqlite.ts';
import type { Appended, EventToAppend, ReadStreamOptions, StoredEvent } from '../event-store.ts';
import { NewestEvents } from './newest-events.sqlite.ts';
import { isPermanent } from '../permanent-streams.ts';

/** Reads of single streams. Those of one tick share a snapshot. */
export class StreamReads {
  private readonly forwards: StatementSync;
  private readonly backwards: StatementSync;
  private readonly grouped: GroupedReads;
  private readonly newestEvents: NewestEvents;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly written: EventRows,
  ) {
    this.grouped = new GroupedReads(database);
    this.newestEvents = new NewestEvents(database);
    const prepare = (sql: string) => {
      const statement = database.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    };
    this.forwards = prepare(
      `SELECT ${EVENT_COLUMNS} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision ${LIMIT}`,
    );
    this.backwards = prepare(
      `SELECT ${EVENT_COLUMNS} FROM events WHERE stream = ?1
         AND revision <= coalesce((SELECT min(revision) FROM events WHERE stream = ?1 AND revision >= ?2), ?2)
       ORDER BY revision DESC ${LIMIT}`,
    );
  }

  async read(
    stream: string,
    { from, direction = 'forwards', limit = -1 }: ReadStreamOptions = {},
  ): Promise<StoredEvent[]> {
    const isForwards = direction === 'forwards';
    const first = from ?? (isForwards ? 0 : Number.MAX_SAFE_INTEGER);
    const wanted = limit < 0 ? Infinity : limit;
    const newest = isForwards && wanted > 0 ? this.newestEvents.find(stream, first) : undefined;
    if (newest) return [newest];
    const events: StoredEvent[] = [];
    const statement = isForwards ? this.forwards : this.backwards;
    await this.grouped.rows(statement, [stream, first, limit], (rows) => {
      let count = 0;
      // Whether the last event came out of a batch. The text of such an event keeps the text of its whole batch in
      // memory.
      let isBatch = false;
      for (const row of rows) {
        const inRow = this.written.toEvents(row);
        isBatch = inRow.length > 1;
        for (const event of isForwards ? inRow : inRow.toReversed())
          if (isForwards ? event.revision >= first : event.revision <= first) events.push(event);
        count += inRow.length;
        if (events.length >= wanted) return count;
      }
      const last = events.at(-1);
      if (isForwards && last && !isBatch) this.newestEvents.keep(last);
      return count;
    });
    if (isPermanent(stream)) this.requireGapless(events, isForwards ? 1 : -1);
    return events.slice(0, wanted);
  }

  /**
   * Finds a repeated append: returns where these events were stored, if they are the next events of the stream after
   * `after`. Runs within a transaction.
   */
  findRepeat(stream: string, after: number, events: readonly EventToAppend[]): Appended | undefined {
    const rows = this.forwards.all(stream, after + 1, events.length);
    const stored = rows
      .flatMap(this.written.toEvents)
      .filter(({ revision }) => revision > after)
      .slice(0, events.length);
    const last = stored.at(-1);
    const isRepeat = stored.length === events.length && stored.every((event, at) => event.id === events[at]?.id);
    return isRepeat && last ? { revision: last.revision, position: last.position } : undefined;
  }

  /** The stream is about to change. To be called within the transaction that changes it. */
  changed(stream: string): void {
    this.newestEvents.forget(stream);
  }

  /** Any stream may change. To be called within the transaction that changes them. */
  changedAll(): void {
    this.newestEvents.forgetAll();
  }

  close(): void {
    this.newestEvents.forgetAll();
    this.grouped.close();
  }

  private requireGapless(events: readonly StoredEvent[], step: number): void {
    for (const [at, { stream, revision }] of events.entries()) {
      if (at === 0 || revision === (events[at - 1]?.revision ?? 0) + step) continue;
      throw this.database.damage(`${stream} lacks an event beside revision ${String(revision)}`);
    }
  }
}
