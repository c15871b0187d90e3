import type { StatementSync } from 'node:sqlite';
import { rowCrc } from '../../primitives/sqlite/damage/row-crc.sqlite.ts';
import type { SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import { decodeEvents, encodeEvents, isBatch, runsOf, type EventText } from './event-batch.ts';
import type { Appended, EventToAppend, StoredEvent } from '../event-store.ts';
import { LazyStoredEvent } from '../stored-event.ts';

export const EVENT_COLUMNS = 'position, stream, revision, id, type, version, time, data, metadata, batch, crc';
/** Of a batch, its last event, without data and metadata, and all of them. */
type Row = [number, string, number, string, string, number, number, string, string, Uint8Array | null, number];

interface Written {
  stream: string;
  /** The revision before the first of the events. */
  after: number;
  events: readonly EventToAppend[];
  /** Whether several events may share a row: only in a stream from which nothing is ever deleted. */
  mayBatch: boolean;
}

/** Writes events to the table `events`, and reads them from its rows. */
export class EventRows {
  private readonly insert: StatementSync;
  private readonly insertBatch: StatementSync;

  /** @param newest returns the position of the newest event */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly newest: () => number,
  ) {
    this.insert = database.prepare(
      `INSERT INTO events (position, stream, revision, id, type, version, time, data, metadata, crc)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.insertBatch = database.prepare(
      `INSERT INTO events (position, stream, revision, id, type, version, time, data, metadata, batch, crc)
       VALUES (?, ?, ?, ?, ?, ?, ?, '', '', ?, ?)`,
    );
  }

  /** @param each is called with the position of each event that has a row of its own */
  write({ stream, after, events, mayBatch }: Written, each: (position: number) => void): Appended {
    let revision = after;
    const before = this.newest();
    let position = before;
    for (const run of runsOf(events)) {
      if (mayBatch && isBatch(run)) {
        revision += run.length;
        position = this.writeBatch({ stream, revision, position: position + run.length }, run);
        continue;
      }
      for (const { event, dataText, metadataText } of run) {
        const { id, type, schemaVersion, time } = event;
        revision += 1;
        position += 1;
        const row = [position, stream, revision, id, type, schemaVersion, time, dataText, metadataText];
        this.insert.run(...row, rowCrc(row));
        each(position);
      }
    }
    return { revision, position: position === before ? 0 : position };
  }

  private writeBatch(
    { stream, revision, position }: Pick<StoredEvent, 'stream' | 'revision' | 'position'>,
    run: readonly EventText[],
  ): number {
    const last = run.at(-1)?.event;
    if (!last) throw new Error('a batch has events');
    const { id, type, schemaVersion, time } = last;
    const row = [position, stream, revision, id, type, schemaVersion, time, encodeEvents(run)];
    this.insertBatch.run(...row, rowCrc(row));
    return position;
  }

  /**
   * Returns the events of a row, in their order.
   * @throws Refusal dependency_unavailable if the row is not as it was written
   */
  readonly toEvents = (row: unknown): StoredEvent[] => {
    const [position, stream, revision, id, type, version, time, dataText, metadataText, batch, crc] = row as Row;
    const head = [position, stream, revision, id, type, version, time];
    const what = `the event at position ${String(position)}`;
    this.database.requireRow(batch ? [...head, batch] : [...head, dataText, metadataText], crc, what);
    if (batch) return decodeEvents(batch, { position, stream, revision, type });
    return [new LazyStoredEvent(position, stream, revision, id, type, version, time, dataText, metadataText)];
  };
}
