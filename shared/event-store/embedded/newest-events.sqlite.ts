import { LRUCache } from 'lru-cache';
import type { SqliteDatabase } from '../../primitives/sqlite/database.sqlite.ts';
import type { StoredEvent } from '../event-store.ts';

/** Maximum size of the cache, measured as the text of the events' data. Parsed data takes as much again. */
const CHARACTERS_MAX = 8 * 1_024 * 1_024;
/** A smaller event counts as this large, which bounds the cache to 16,384 events. */
const EVENT_CHARACTERS_MIN = 512;
/** A larger event is not cached. */
const EVENT_CHARACTERS_MAX = 64 * 1_024;

/**
 * Caches the newest event of each stream that was read lately. A caller that has folded a stream continues from the
 * newest event that it knows, and usually there is no newer one: then this cache answers, and nothing is read.
 */
export class NewestEvents {
  private readonly byStream = new LRUCache<string, StoredEvent>({
    maxSize: CHARACTERS_MAX,
    maxEntrySize: EVENT_CHARACTERS_MAX,
  });
  /**
   * The version that `find` saw last, before any of the cached events was read. It changes with commits of other
   * connections.
   */
  private version: number | undefined;

  constructor(private readonly database: Pick<SqliteDatabase, 'foreignVersion'>) {}

  /** Returns the newest event of a stream, if it is cached and has this revision. */
  find(stream: string, revision: number): StoredEvent | undefined {
    const newest = this.byStream.get(stream);
    if (newest?.revision !== revision) return undefined;
    const version = this.database.foreignVersion;
    if (version === this.version) return newest;
    this.forgetAll();
    this.version = version;
    return undefined;
  }

  /**
   * Must be called within the snapshot in which the stream was read to its end: a read that stopped at its limit must
   * not cache.
   */
  keep(event: StoredEvent): void {
    this.byStream.set(event.stream, event, { size: Math.max(event.dataText.length, EVENT_CHARACTERS_MIN) });
  }

  /** To be called when the stream is about to change. */
  forget(stream: string): void {
    this.byStream.delete(stream);
  }

  forgetAll(): void {
    this.byStream.clear();
  }
}
