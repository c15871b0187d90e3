import type { StatementSync } from 'node:sqlite';
import type { SqliteDatabase } from '../primitives/database.sqlite.ts';
import { decodeEvents, encodeEvents, isBatch, runsOf, type EventText } from './event-batch.ts';
import type { Appended, EventToAppend, StoredEvent } from './event-store.ts';
import { LazyStoredEvent } from './stored-event.ts';

export const EVENT_COLUMNS = 'position, stream, revision, id, type, version, time, data, metadata, batch';
/** Of a batch, its last event, without data and metadata, and all of them. */
type Row = [number, string, number, string, string, number, number, string, string, Uint8Array | null];

interface Written {
  stream: string;
  /** The revision before the first of them. */
  after: number;
  events: readonly EventToAppend[];
  /** Whether many may be a row together: none of them is ever forgotten. */
  mayBatch: boolean;
}

/** Writes events as rows of the table `events`. */
export class EventRows {
  private readonly insert: StatementSync;
  private readonly insertBatch: StatementSync;

  /** @param newest returns the position of the newest event */
  constructor(
    database: SqliteDatabase,
    private readonly newest: () => number,
  ) {
    this.insert = database.prepare(
      'INSERT INTO events (stream, revision, id, type, version, time, data, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    );
    this.insertBatch = database.prepare(
      `INSERT INTO events (position, stream, revision, id, type, version, time, data, metadata, batch)
       VALUES (?, ?, ?, ?, ?, ?, ?, '', '', ?)`,
    );
  }

  /** @param each is told the position of each that is a row by itself */
  write({ stream, after, events, mayBatch }: Written, each: (position: number) => void): Appended {
    let revision = after;
    let position = 0;
    for (const run of runsOf(events)) {
      if (mayBatch && isBatch(run)) {
        revision += run.length;
        position = this.writeBatch(stream, revision, run);
        continue;
      }
      for (const { event, dataText, metadataText } of run) {
        const { id, type, schemaVersion, time } = event;
        revision += 1;
        const { lastInsertRowid } = this.insert.run(
          ...[stream, revision, id, type, schemaVersion, time, dataText, metadataText],
        );
        position = Number(lastInsertRowid);
        each(position);
      }
    }
    return { revision, position };
  }

  private writeBatch(stream: string, lastRevision: number, run: readonly EventText[]): number {
    const last = run.at(-1)?.event;
    if (!last) throw new Error('a batch has events');
    const { id, type, schemaVersion, time } = last;
    const position = this.newest() + run.length;
    this.insertBatch.run(position, stream, lastRevision, id, type, schemaVersion, time, encodeEvents(run));
    return position;
  }
}

/** Returns the events of a row, in their order. */
export const toEvents = (row: unknown): StoredEvent[] => {
  const [position, stream, revision, id, type, version, time, dataText, metadataText, batch] = row as Row;
  if (batch) return decodeEvents(batch, { position, stream, revision, type });
  return [new LazyStoredEvent(position, stream, revision, id, type, version, time, dataText, metadataText)];
};
