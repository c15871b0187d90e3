import { LRUCache } from 'lru-cache';
import type { SqliteDatabase } from '../primitives/database.sqlite.ts';
import type { StoredEvent } from './event-store.ts';

/** Of the data of all events together, as text. What is parsed of it takes as much again. */
const CHARACTERS_MAX = 8 * 1_024 * 1_024;
/** A smaller event counts as this large, so that no more than 16,384 are kept. */
const EVENT_CHARACTERS_MIN = 512;
/** A larger event is not kept. */
const EVENT_CHARACTERS_MAX = 64 * 1_024;

/**
 * The newest event of each stream that was read lately. Whoever has folded a stream reads it on from the newest event that he
 * knows, and mostly there is no newer one: then the event kept here is the answer, and nothing is read.
 */
export class NewestEvents {
  private readonly byStream = new LRUCache<string, StoredEvent>({
    maxSize: CHARACTERS_MAX,
    maxEntrySize: EVENT_CHARACTERS_MAX,
  });
  /** What other connections had committed when `find` looked last, which was before any of the events was read. */
  private version: number | undefined;

  constructor(private readonly database: Pick<SqliteDatabase, 'foreignVersion'>) {}

  /** Returns the newest event of a stream, if it is known and has this revision. */
  find(stream: string, revision: number): StoredEvent | undefined {
    const newest = this.byStream.get(stream);
    if (newest?.revision !== revision) return undefined;
    const version = this.database.foreignVersion;
    if (version === this.version) return newest;
    this.forgetAll();
    this.version = version;
    return undefined;
  }

  /** Called within the snapshot in which the stream was read to its end: a read that stopped at its limit keeps nothing. */
  keep(event: StoredEvent): void {
    this.byStream.set(event.stream, event, { size: Math.max(event.dataText.length, EVENT_CHARACTERS_MIN) });
  }

  /** The stream is being changed. */
  forget(stream: string): void {
    this.byStream.delete(stream);
  }

  forgetAll(): void {
    this.byStream.clear();
  }
}
