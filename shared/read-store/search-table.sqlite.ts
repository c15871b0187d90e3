import type { StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../schemas/json.ts';
import type { SqliteDatabase } from '../primitives/database.sqlite.ts';
import { bloomFilter } from './bloom-filter.ts';
import { quote } from './filter.sqlite.ts';
import type { SearchIndex } from './read-store.ts';
import { bucketOf, postingsSql, type SearchTables } from './segment-search.sqlite.ts';
import { Postings, storePostings, StoredPostings } from './stored-postings.ts';

export interface Indexed {
  /** The document's own in its collection. */
  row: number;
  id: string;
  document: JsonObject;
}

/** More parts than this become one when the next segment begins, as where documents were stored a few at a time. */
const PARTS_MAX = 8;
/** Of so many segments it is known that they have begun. */
const BEGUN_MAX = 10_000;

/**
 * The terms of the documents of one collection. Each batch of documents is stored in some rows: one for each segment and bucket
 * that has one of its terms, so a thousand documents change few pages, and a term of a segment is read from few rows.
 */
export class SearchTable {
  readonly tables: SearchTables;
  private readonly begun = new LRUCache<number, true>({ max: BEGUN_MAX });
  private readonly insertion: StatementSync;
  private readonly deletion: StatementSync;
  private readonly read: StatementSync;
  private readonly readAll: StatementSync;
  private readonly hasFilter: StatementSync;
  private readonly filterInsertion: StatementSync;
  private readonly filterDeletion: StatementSync;

  constructor(
    database: SqliteDatabase,
    collection: string,
    private readonly index: SearchIndex,
  ) {
    const [table, filters] = [quote(`${collection} postings`), quote(`${collection} filters`)];
    this.tables = { postings: table, filters };
    const prepare = (sql: string) => database.prepare(sql);
    database.setUp(() => {
      database.exec(
        `CREATE TABLE IF NOT EXISTS ${table} (
           segment INTEGER NOT NULL, bucket INTEGER NOT NULL, part INTEGER NOT NULL, postings BLOB NOT NULL,
           PRIMARY KEY (segment, bucket, part)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS ${filters} (segment INTEGER PRIMARY KEY, filter BLOB NOT NULL) STRICT`,
      );
    });
    const oneBucket = 'segment = ?1 AND bucket = ?2';
    this.insertion = prepare(
      `INSERT INTO ${table} SELECT ?1, ?2, coalesce(max(part), 0) + 1, ?3 FROM ${table} WHERE ${oneBucket}`,
    );
    this.deletion = prepare(`DELETE FROM ${table} WHERE ${oneBucket}`);
    this.read = prepare(postingsSql(table));
    this.readAll = prepare(`SELECT bucket, postings FROM ${table} WHERE segment = ?`);
    this.hasFilter = prepare(`SELECT 1 FROM ${filters} WHERE segment = ?`);
    this.filterInsertion = prepare(`INSERT INTO ${filters} VALUES (?, ?)`);
    this.filterDeletion = prepare(`DELETE FROM ${filters} WHERE segment = ?`);
    database.setUp(() => {
      this.takeOver(database, `${collection} terms`);
    });
  }

  /** Stores what documents are found by, and removes what they were found by. */
  store(added: readonly Indexed[], removed: readonly Indexed[] = []): void {
    const segments = new Map<number, Map<number, BucketChange>>();
    for (const [documents, kind] of [[removed, 'removed'] as const, [added, 'added'] as const]) {
      for (const { row, id, document } of documents) {
        const [segment, place] = [this.index.segment(id, document), this.index.order(id, document)];
        let buckets = segments.get(segment);
        if (!buckets) segments.set(segment, (buckets = new Map<number, BucketChange>()));
        for (const term of this.index.terms(id, document)) changeOf(buckets, term)[kind].add(term, place, row);
      }
    }
    for (const [segment, buckets] of segments) this.change(segment, buckets);
  }

  private change(segment: number, buckets: ReadonlyMap<number, BucketChange>): void {
    if (!this.begun.has(segment)) this.seal(segment - 1);
    this.begun.set(segment, true);
    this.filterDeletion.run(segment);
    for (const [bucket, change] of buckets) {
      if (change.removed.length > 0) this.rewrite(segment, bucket, change);
      else this.insertion.run(segment, bucket, storePostings(change.added));
    }
  }

  /** Stores which terms a segment has, and makes one part of many. What comes to it later makes the filter invalid. */
  private seal(segment: number): void {
    if (this.hasFilter.get(segment)) return;
    const terms = new Set<number>();
    const parts = new Map<number, number>();
    for (const row of this.readAll.all(segment)) {
      const bucket = row['bucket'] as number;
      parts.set(bucket, (parts.get(bucket) ?? 0) + 1);
      for (const term of new StoredPostings(row['postings'] as Uint8Array).terms) terms.add(term);
    }
    if (terms.size === 0) return;
    for (const [bucket, count] of parts) if (count > PARTS_MAX) this.rewrite(segment, bucket, noChange());
    this.filterInsertion.run(segment, bloomFilter(terms));
  }

  /** Makes one part of all. */
  private rewrite(segment: number, bucket: number, { removed, added }: BucketChange): void {
    const { terms, places, rows } = removed;
    const gone = new Set(terms.map((term, at) => textOf(term, places[at], rows[at])));
    const isGone = (term: number, place: number, row: number) => gone.has(textOf(term, place, row));
    const kept = new Postings();
    for (const { postings } of this.read.all(segment, bucket))
      new StoredPostings(postings as Uint8Array).addTo(kept, isGone);
    for (const [at, term] of added.terms.entries()) kept.add(term, added.places[at] ?? 0, added.rows[at] ?? 0);
    this.deletion.run(segment, bucket);
    if (kept.length > 0) this.insertion.run(segment, bucket, storePostings(kept));
  }

  /** Once each term of a document had a row of its own. */
  private takeOver(database: SqliteDatabase, name: string): void {
    if (!database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name)) return;
    const old = quote(name);
    const ofSegment = database.prepare(`SELECT term, place, document AS row FROM ${old} WHERE segment = ?`);
    const next = database.prepare(`SELECT min(segment) AS segment FROM ${old} WHERE segment > ?`);
    for (let segment = -1; ;) {
      const found = next.get(segment)?.['segment'];
      if (typeof found !== 'number') break;
      segment = found;
      const buckets = new Map<number, BucketChange>();
      for (const row of ofSegment.all(segment)) {
        const { term, place, row: of } = row as Record<string, number>;
        if (term !== undefined) changeOf(buckets, term).added.add(term, place ?? 0, of ?? 0);
      }
      this.change(segment, buckets);
    }
    database.exec(`DROP TABLE ${old}`);
  }
}

interface BucketChange {
  added: Postings;
  removed: Postings;
}

const noChange = (): BucketChange => ({ added: new Postings(), removed: new Postings() });

const changeOf = (buckets: Map<number, BucketChange>, term: number): BucketChange => {
  const bucket = bucketOf(term);
  let change = buckets.get(bucket);
  if (!change) buckets.set(bucket, (change = noChange()));
  return change;
};

const textOf = (term: number, place = 0, row = 0): string => [term, place, row].join(' ');
