import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import { inOrder, intersection, type Bounds, type PostingList } from './posting-list.ts';
import type { SearchedSegment } from './read-store.ts';
import { StoredPostings, type Wanted } from './stored-postings.ts';

type Rows = (sql: string, parameters: readonly SQLInputValue[]) => SQLOutputValue[][];

/** Terms of a segment are stored in so many parts. It is stored, and changes only by a new version. */
const BUCKETS = 256;
export const bucketOf = (term: number): number => term % BUCKETS;

/** A statement that reads the postings of a bucket. Its parameters are the segment and the bucket. */
export const postingsSql = (table: string): string => `SELECT postings FROM ${table} WHERE segment = ? AND bucket = ?`;

/** Searches in segments of one table. */
export class SegmentSearch {
  /** By the index of a term: in how many segments nothing had it. What is rarest is looked for first. */
  private readonly absences: number[] = [];
  private readonly rows: Rows;
  private readonly sql: string;

  constructor(rows: Rows, table: string) {
    this.rows = rows;
    this.sql = postingsSql(table);
  }

  /** Returns documents in order, whatever the direction is; they may be more than the limit. */
  hits({ segment, terms }: SearchedSegment, wanted: Wanted): PostingList {
    const [only, ...others] = terms;
    if (only === undefined) return [];
    return others.length === 0 ? this.found(segment, only, wanted) : this.common(segment, terms, wanted.bounds);
  }

  count({ segment, terms }: SearchedSegment, bounds: Bounds): number {
    const [only, ...others] = terms;
    if (only === undefined) return 0;
    if (others.length > 0) return this.common(segment, terms, bounds).length / 2;
    return this.postings(segment, only).reduce((total, some) => total + some.count(only, bounds), 0);
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
    const rows = this.rows(this.sql, [segment, bucketOf(term)]);
    return rows.map(([postings]) => new StoredPostings(postings as Uint8Array));
  }
}
