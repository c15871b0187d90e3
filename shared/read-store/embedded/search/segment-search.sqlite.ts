import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import { mayHave } from './bloom-filter.ts';
import { inOrder, intersection, type Bounds, type PostingList } from './posting-list.ts';
import type { SearchedSegment } from '../../read-store.ts';
import { StoredPostings, type Wanted } from './stored-postings.ts';

type Rows = (sql: string, parameters: readonly SQLInputValue[]) => SQLOutputValue[][];

/**
 * Number of buckets into which the terms of a segment are stored. Stored data, which changes only with a new version.
 */
const BUCKETS = 256;
export const bucketOf = (term: number): number => term % BUCKETS;

/** The names of the tables of an index, in SQL. */
export interface SearchTables {
  postings: string;
  filters: string;
}

/** A statement that reads the postings of a bucket. Its parameters are the segment and the bucket. */
export const postingsSql = (table: string): string => `SELECT postings FROM ${table} WHERE segment = ? AND bucket = ?`;

/** Ten million records have 40 MB of filters. */
const FILTERS_KEPT_BYTES = 128 * 2 ** 20;

/** Searches in segments of one table. */
export class SegmentSearch {
  /** By the index of a term: in how many segments it was absent. The rarest term is looked up first. */
  private absences: number[] = [];
  private readonly filters = new LRUCache<number, { version: number; filter: Uint8Array }>({
    maxSize: FILTERS_KEPT_BYTES,
    sizeCalculation: ({ filter }) => filter.length,
  });
  private readonly rows: Rows;
  private readonly postingsSql: string;
  private readonly filterSql: string;

  constructor(rows: Rows, { postings, filters }: SearchTables) {
    this.rows = rows;
    this.postingsSql = postingsSql(postings);
    this.filterSql = `SELECT filter FROM ${filters} WHERE segment = ?`;
  }

  /** Resets the statistics, because the next search has other terms. */
  begin(): this {
    this.absences = [];
    return this;
  }

  /** Returns documents in ascending order, whatever the direction; there may be more than the limit. */
  hits(searched: SearchedSegment, wanted: Wanted): PostingList {
    const { segment, terms } = searched;
    const [only, ...others] = terms;
    if (only === undefined || !this.mayHaveAll(searched)) return [];
    return others.length === 0 ? this.found(segment, only, wanted) : this.common(segment, terms, wanted.bounds);
  }

  count(searched: SearchedSegment, bounds: Bounds): number {
    const { segment, terms } = searched;
    const [only, ...others] = terms;
    if (only === undefined || !this.mayHaveAll(searched)) return 0;
    if (others.length > 0) return this.common(segment, terms, bounds).length / 2;
    return this.postings(segment, only).reduce((total, some) => total + some.count(only, bounds), 0);
  }

  private mayHaveAll({ segment, terms, version }: SearchedSegment): boolean {
    const filter = version === undefined ? undefined : this.filter(segment, version);
    return !filter || terms.every((term) => mayHave(filter, term));
  }

  private filter(segment: number, version: number): Uint8Array | undefined {
    const kept = this.filters.get(segment);
    if (kept?.version === version) return kept.filter;
    const [row] = this.rows(this.filterSql, [segment]);
    if (!row) return undefined;
    const filter = row[0] as Uint8Array;
    this.filters.set(segment, { version, filter });
    return filter;
  }

  private common(segment: number, terms: readonly number[], bounds: Bounds): PostingList {
    const absences = (at: number) => this.absences[at] ?? 0;
    const rarestFirst = [...terms.keys()].sort((one, other) => absences(other) - absences(one));
    let common: PostingList | undefined;
    for (const at of rarestFirst) {
      const found = this.found(segment, terms[at] ?? 0, { bounds, direction: 'asc', limit: Infinity });
      if (found.length === 0) this.absences[at] = absences(at) + 1;
      common = common ? intersection(common, found) : found;
      if (common.length === 0) break;
    }
    return common ?? [];
  }

  private found(segment: number, term: number, wanted: Wanted): PostingList {
    const list: PostingList = [];
    for (const some of this.postings(segment, term)) some.find(term, wanted, list);
    return inOrder(list);
  }

  private postings(segment: number, term: number): StoredPostings[] {
    const rows = this.rows(this.postingsSql, [segment, bucketOf(term)]);
    return rows.map(([postings]) => new StoredPostings(postings as Uint8Array));
  }
}
