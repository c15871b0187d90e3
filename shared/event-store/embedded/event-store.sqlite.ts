import type { StatementSync } from 'node:sqlite';
import { Refusal, unavailable } from '../../errors/refusal.ts';
import { systemClock, type Clock } from '../../primitives/clock.ts';
import { LIMIT, SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { BatchSize } from '../batch-size.ts';
import { EVENT_COLUMNS, EventRows } from './event-rows.sqlite.ts';
import {
  WrongExpectedRevision,
  type Appended,
  type EventBatch,
  type EventFilter,
  type EventPlace,
  type EventStore,
  type EventToAppend,
  type ReadStreamOptions,
  type Retention,
  type StoredEvent,
} from '../event-store.ts';
import { ForgottenEvents } from './forgotten-events.sqlite.ts';
import { isPermanent, placeOf } from '../permanent-streams.ts';
import { StreamReads } from './stream-reads.sqlite.ts';
import { subscribeByReading } from '../subscription.ts';

/** Maximum events in one commit. Further appends wait for the next commit. */
const GROUP_EVENTS_MAX = 4_000;
const ROWS_PER_READ = 64;
/** How many of the newest events are searched for one of a permanent stream. */
const PLACES_LOOKED_AT = 200;

interface PendingAppend {
  stream: string;
  expectedRevision: number;
  events: readonly EventToAppend[];
  keep: Retention | undefined;
  resolve: (appended: Appended) => void;
  reject: (error: unknown) => void;
}

/**
 * The embedded event store: one SQLite file. Appends of one tick share a commit (group commit), and reads of one tick
 * share a snapshot. Many events of one append share a row, if nothing is ever deleted from their stream.
 */
export class SqliteEventStore implements EventStore {
  private readonly database: SqliteDatabase;
  private readonly written: EventRows;
  private readonly lastRevision: StatementSync;
  private readonly newestPosition: StatementSync;
  private readonly places: StatementSync;
  private readonly forget: StatementSync;
  private readonly forgottenEvents: ForgottenEvents;
  private readonly streams: StreamReads;
  private readonly readAllByFilter = new Map<string, StatementSync>();
  private readonly retention = new Map<string, number>();
  private pending: PendingAppend[] = [];
  private flushing = false;
  private closed = false;

  constructor(
    file: string,
    private readonly clock: Clock = systemClock,
  ) {
    this.database = new SqliteDatabase(file, { synchronous: 'FULL', cacheMiB: 16 });
    this.database.setUp(() => {
      this.database.exec(`
      CREATE TABLE IF NOT EXISTS events (
        position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL, id TEXT NOT NULL,
        type TEXT NOT NULL, version INTEGER NOT NULL, time INTEGER NOT NULL, data TEXT NOT NULL, metadata TEXT NOT NULL,
        batch BLOB, crc INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX IF NOT EXISTS events_by_stream ON events (stream, revision);
    `);
    });
    const prepare = (sql: string) => this.database.prepare(sql);
    this.written = new EventRows(this.database, () => this.newest());
    this.lastRevision = prepare('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1');
    this.newestPosition = prepare('SELECT max(position) AS position FROM events');
    this.places = this.rows(
      `SELECT id, stream, revision, position FROM events WHERE position <= ? ORDER BY position DESC ${LIMIT}`,
    );
    this.forget = prepare('DELETE FROM events WHERE stream = ? AND revision <= ?');
    this.streams = new StreamReads(this.database, this.written);
    this.forgottenEvents = new ForgottenEvents(this.database, clock, {
      newest: () => this.newest(),
      onForgotten: () => {
        this.streams.changedAll();
      },
    });
  }

  append(
    stream: string,
    expectedRevision: number,
    events: readonly EventToAppend[],
    keep?: Retention,
  ): Promise<Appended> {
    if (this.closed) return Promise.reject(new Refusal('shutting_down', 'the event store is closed'));
    const { promise, resolve, reject } = Promise.withResolvers<Appended>();
    this.pending.push({ stream, expectedRevision, events, keep, resolve, reject });
    if (!this.flushing) {
      this.flushing = true;
      setImmediate(() => {
        void this.flush();
      });
    }
    return promise;
  }

  read(stream: string, options?: ReadStreamOptions): Promise<StoredEvent[]> {
    return this.streams.read(stream, options);
  }

  readAll(after: number, filter: EventFilter | undefined, limit: number): Promise<EventBatch> {
    const batch = this.database.snapshot(() => {
      const { events, caughtUp } = this.readSome(after, filter, limit);
      const last = events.at(-1);
      const position = caughtUp ? Math.max(this.newest(), after) : (last?.position ?? after);
      const isNewest = last?.position === position && isPermanent(last.stream);
      return { events, position, caughtUp, newestPermanent: isNewest ? placeOf(last) : this.permanentUpTo(position) };
    });
    return Promise.resolve(batch);
  }

  subscribeAll(after: number, filter: EventFilter | undefined, signal: AbortSignal): AsyncIterable<EventBatch> {
    return subscribeByReading(this, after, filter, this.database.changed, signal);
  }

  keepNewest(stream: string, count: number): Promise<void> {
    this.retention.set(stream, count);
    return Promise.resolve();
  }

  head(): Promise<number> {
    return Promise.resolve(this.newest());
  }

  close(): Promise<void> {
    this.closed = true;
    this.forgottenEvents.close();
    this.streams.close();
    if (this.pending.length > 0) void this.flush();
    this.database.close();
    return Promise.resolve();
  }

  /** Reads a few rows at a time, because the size of rows is known only once they are read. */
  private readSome(after: number, filter: EventFilter | undefined, limit: number): Omit<EventBatch, 'position'> {
    const statement = this.readAllStatement(filter);
    const types = filter?.types ?? [];
    const events: StoredEvent[] = [];
    const size = new BatchSize(limit);
    const isFull = () => size.isFull;
    while (!isFull()) {
      const wanted = Math.min(size.room, ROWS_PER_READ);
      const from = events.at(-1)?.position ?? after;
      let rows = 0;
      for (const row of statement.iterate(from, ...types, wanted)) {
        if (isFull()) return { events, caughtUp: false };
        rows += 1;
        for (const event of this.written.toEvents(row)) {
          if (event.position <= from) continue;
          if (isFull()) return { events, caughtUp: false };
          events.push(event);
          size.add(event);
        }
      }
      if (rows < wanted) return { events, caughtUp: true };
    }
    return { events, caughtUp: false };
  }

  /** Tries the newest event first: it is usually of a permanent stream. */
  private permanentUpTo(position: number): EventPlace | undefined {
    for (const count of [1, PLACES_LOOKED_AT]) {
      const places = this.places.all(position, count) as unknown as [string, string, number, number][];
      const found = places.find(([, stream]) => isPermanent(stream));
      if (found) return { id: found[0], stream: found[1], revision: found[2], position: found[3] };
    }
    return undefined;
  }

  private newest(): number {
    return (this.newestPosition.get()?.['position'] as number | null) ?? 0;
  }

  private async flush(): Promise<void> {
    const group = this.takeGroup();
    if (group.length === 0) return;
    try {
      const outcomes = await this.database.transaction(() => group.map((append) => this.write(append)));
      group.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes[index];
        if (outcome instanceof Error) reject(outcome);
        else if (outcome) resolve(outcome);
      });
    } catch (cause) {
      const refusal = cause instanceof Refusal ? cause : unavailable('the event store cannot write', cause);
      for (const { reject } of group) reject(refusal);
    }
    if (this.pending.length > 0) {
      setImmediate(() => {
        void this.flush();
      });
    } else {
      this.flushing = false;
    }
  }

  private takeGroup(): PendingAppend[] {
    let events = 0;
    let count = 0;
    for (const append of this.pending) {
      events += append.events.length;
      if (count > 0 && events > GROUP_EVENTS_MAX) break;
      count += 1;
    }
    return this.pending.splice(0, count);
  }

  private write({ stream, expectedRevision, events, keep }: PendingAppend): Appended | WrongExpectedRevision {
    const actual = (this.lastRevision.get(stream)?.['revision'] as number | undefined) ?? -1;
    if (actual !== expectedRevision) {
      return (
        this.streams.findRepeat(stream, expectedRevision, events) ??
        new WrongExpectedRevision(stream, expectedRevision, actual)
      );
    }
    this.streams.changed(stream);
    const forgetAt = keep && 'seconds' in keep ? this.clock.now() + keep.seconds * 1_000 : undefined;
    const mayBatch = keep === undefined && !this.retention.has(stream) && isPermanent(stream);
    const appended = this.written.write({ stream, after: actual, events, mayBatch }, (position) => {
      if (forgetAt !== undefined) this.forgottenEvents.add(forgetAt, position);
    });
    const newest = keep && 'newest' in keep ? keep.newest : this.retention.get(stream);
    if (newest !== undefined && appended.revision >= newest) this.forget.run(stream, appended.revision - newest);
    return appended;
  }

  private readAllStatement(filter: EventFilter | undefined): StatementSync {
    const count = filter?.types.length ?? 0;
    const key = String(count);
    let statement = this.readAllByFilter.get(key);
    if (!statement) {
      const types = count === 0 ? '' : `AND type IN (${Array.from({ length: count }, () => '?').join(', ')})`;
      statement = this.rows(
        `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? ${types} ORDER BY position ${LIMIT}`,
      );
      this.readAllByFilter.set(key, statement);
    }
    return statement;
  }

  private rows(sql: string): StatementSync {
    const statement = this.database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }
}
