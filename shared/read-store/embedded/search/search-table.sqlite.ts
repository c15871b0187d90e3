import type { StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../../../schemas/json.ts';
import type { SqliteDatabase } from '../../../primitives/sqlite/database.sqlite.ts';
import { bloomFilter, mayHave } from './bloom-filter.ts';
import { quote } from '../filter.sqlite.ts';
import type { SearchIndex } from '../../read-store.ts';
import { bucketOf, postingsSql, type SearchTables } from './segment-search.sqlite.ts';
import { Postings, storePostings, StoredPostings } from './stored-postings.ts';
import { atMost } from '../../../primitives/at-most.ts';

export interface Indexed {
  /** Rowid of the document in its collection's table. */
  row: number;
  id: string;
  document: JsonObject;
}

/**
 * Maximum parts per bucket; more are merged when the next segment begins, which takes a tenth of a second and more. Many
 * parts arise where documents were stored a few at a time; a rebuild, which stores 500 at a time, makes 18 at most.
 */
const PARTS_MAX = 20;
/** So many that other work of the thread does not wait long. A segment has some thousand. */
const ROWS_COMPARED = 250;
/** Size of the cache of segments that are known to have begun. */
const BEGUN_MAX = 10_000;

/** The names of the tables that belong to a collection with a search index. */
export const searchTableNames = (collection: string) => [`${collection} postings`, `${collection} filters`] as const;

/**
 * The terms of the documents of one collection. A batch of documents is stored as one row per segment and bucket with
 * any of its terms, so a thousand documents change few pages, and a term of a segment is read from few rows.
 */
export class SearchTable {
  readonly tables: SearchTables;
  private readonly begun = new LRUCache<number, true>(atMost(BEGUN_MAX));
  private readonly insertion: StatementSync;
  private readonly deletion: StatementSync;
  private readonly read: StatementSync;
  private readonly readAll: StatementSync;
  private readonly nextSegment: StatementSync;
  private readonly partDeletion: StatementSync;
  private readonly getFilter: StatementSync;
  private readonly filterInsertion: StatementSync;
  private readonly filterDeletion: StatementSync;

  constructor(
    database: SqliteDatabase,
    collection: string,
    private readonly index: SearchIndex,
  ) {
    const [table, filters] = searchTableNames(collection).map(quote) as [string, string];
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
    this.readAll = prepare(`SELECT bucket, part, postings FROM ${table} WHERE segment = ?`);
    this.nextSegment = prepare(`SELECT min(segment) AS next FROM ${table} WHERE ?1 IS NULL OR segment > ?1`);
    this.partDeletion = prepare(`DELETE FROM ${table} WHERE segment = ? AND bucket = ? AND part = ?`);
    this.getFilter = prepare(`SELECT filter FROM ${filters} WHERE segment = ?`);
    this.filterInsertion = prepare(`INSERT INTO ${filters} VALUES (?, ?)`);
    this.filterDeletion = prepare(`DELETE FROM ${filters} WHERE segment = ?`);
  }

  /** Stores the terms of documents, and removes former terms. */
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

  /** Returns the first segment that has entries, after this one. */
  segmentAfter(segment: number | null): number | undefined {
    return (this.nextSegment.get(segment)?.['next'] as number | null | undefined) ?? undefined;
  }

  /** Returns those of these documents that are not found once by each of their terms. */
  unfound<Document extends Indexed>(documents: readonly Document[]): Document[] {
    const read = new Map<string, StoredPostings[]>();
    const stored = (segment: number, bucket: number): StoredPostings[] => {
      const key = `${String(segment)} ${String(bucket)}`;
      const known =
        read.get(key) ??
        this.read.all(segment, bucket).flatMap(({ postings }) => readable(postings as Uint8Array) ?? []);
      read.set(key, known);
      return known;
    };
    return documents.filter(({ row, id, document }) => {
      const [segment, place] = [this.index.segment(id, document), this.index.order(id, document)];
      const bounds = { from: place, fromRow: row, to: place, toRow: row };
      const times = (term: number) =>
        stored(segment, bucketOf(term)).reduce((sum, some) => sum + some.count(term, bounds), 0);
      return this.index.terms(id, document).some((term) => times(term) !== 1);
    });
  }

  /**
   * Compares the entries of a segment's next rows with their documents.
   * @param after the rows up to here are left out
   * @param repair whether the entries that should not be there are removed; a document that has lost some is then one of
   * those that are `unfound`
   * @returns the ids of documents that are found by something else than their terms, the places of entries that cannot be
   * read, that belong to no document, or that the Bloom filter denies, and the last row that was compared, if there are more
   */
  checkSegment(
    segment: number,
    after: number,
    inRow: (row: number) => Indexed | undefined,
    repair: boolean,
  ): { found: string[]; last: number | undefined } {
    const found = new Set<string>();
    const stray = new Map<number, BucketChange>();
    const entries = new Entries(this.index, segment, inRow);
    const filter = this.getFilter.get(segment)?.['filter'] as Uint8Array | undefined;
    const where = `segment ${String(segment)}`;
    const parts = this.readSegment(segment);
    const { rows, last } = nextRows(parts, after);
    for (const { bucket, part, read } of parts) {
      if (!read) {
        found.add(`${where}, bucket ${String(bucket)}`);
        if (repair) this.partDeletion.run(segment, bucket, part);
        continue;
      }
      for (const [at, term] of read.terms.entries()) {
        const [place = 0, row = 0] = [read.places[at], read.rows[at]];
        if (!rows.has(row)) continue;
        if (bucketOf(term) === bucket && entries.has(term, place, row)) {
          if (filter && !mayHave(filter, term)) found.add(`the filter of ${where}`);
          continue;
        }
        found.add(inRow(row)?.id ?? `${where}, row ${String(row)}`);
        let change = stray.get(bucket);
        if (!change) stray.set(bucket, (change = noChange()));
        change.removed.add(term, place, row);
      }
    }
    if (repair && found.size > 0) {
      this.filterDeletion.run(segment);
      for (const [bucket, change] of stray) this.rewrite(segment, bucket, change);
    }
    return { found: [...found], last };
  }

  private readSegment(segment: number): ReadPart[] {
    return this.readAll.all(segment).map((row) => {
      const stored = readable(row['postings'] as Uint8Array);
      const read = stored && new Postings();
      if (read) stored.addTo(read);
      return { bucket: row['bucket'] as number, part: row['part'] as number, read };
    });
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

  /**
   * Stores the Bloom filter of a segment, and merges its parts. A later change of the segment invalidates the filter.
   */
  private seal(segment: number): void {
    if (this.getFilter.get(segment)) return;
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

  /** Merges all parts of a bucket into one. */
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
}

interface ReadPart {
  bucket: number;
  part: number;
  /** `undefined`: not as it was written. */
  read: Postings | undefined;
}

/** Returns the first rows after this one that have entries, and the last of them if there are more. */
const nextRows = (
  parts: readonly ReadPart[],
  after: number,
): { rows: ReadonlySet<number>; last: number | undefined } => {
  const all = new Set<number>();
  for (const { read } of parts) for (const row of read?.rows ?? []) if (row > after) all.add(row);
  const next = [...all].toSorted((one, other) => one - other).slice(0, ROWS_COMPARED);
  return { rows: new Set(next), last: next.length < all.size ? next.at(-1) : undefined };
};

/** The entries that the documents of a segment should have. */
class Entries {
  private readonly byRow = new Map<number, { place: number; terms: ReadonlySet<number> } | undefined>();

  constructor(
    private readonly index: SearchIndex,
    private readonly segment: number,
    private readonly inRow: (row: number) => Indexed | undefined,
  ) {}

  has(term: number, place: number, row: number): boolean {
    if (!this.byRow.has(row)) this.byRow.set(row, this.of(row));
    const entries = this.byRow.get(row);
    return entries?.place === place && entries.terms.has(term);
  }

  private of(row: number) {
    const found = this.inRow(row);
    if (!found || this.index.segment(found.id, found.document) !== this.segment) return undefined;
    const { id, document } = found;
    return { place: this.index.order(id, document), terms: new Set(this.index.terms(id, document)) };
  }
}

interface BucketChange {
  added: Postings;
  removed: Postings;
}

/** Returns stored postings; `undefined` if they are not as they were written. */
const readable = (bytes: Uint8Array): StoredPostings | undefined => {
  try {
    return new StoredPostings(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};

const noChange = (): BucketChange => ({ added: new Postings(), removed: new Postings() });

const changeOf = (buckets: Map<number, BucketChange>, term: number): BucketChange => {
  const bucket = bucketOf(term);
  let change = buckets.get(bucket);
  if (!change) buckets.set(bucket, (change = noChange()));
  return change;
};

const textOf = (term: number, place = 0, row = 0): string => [term, place, row].join(' ');
