import type { Bounds, PostingList } from './posting-list.ts';

/** That a document at a place, of a row, has a term. */
export interface Posting {
  term: number;
  place: number;
  row: number;
}

const DOUBLE = Float64Array.BYTES_PER_ELEMENT;
const SHORT = Uint32Array.BYTES_PER_ELEMENT;
const SHORT_MAX = 2 ** 32 - 1;
const HEADER = 3;

/**
 * Writes postings as columns, in order of term, place and row: how many they are, the least place and the least row; all terms; how
 * much greater each place is, and each row, in 4 bytes if all fit, else in 8. It is stored, and changes only by a new version.
 */
export const storePostings = (postings: readonly Posting[]): Uint8Array => {
  const sorted = postings.toSorted(
    (one, other) => one.term - other.term || one.place - other.place || one.row - other.row,
  );
  let [least, most] = [
    { place: Infinity, row: Infinity },
    { place: 0, row: 0 },
  ];
  for (const { place, row } of postings) {
    least = { place: Math.min(least.place, place), row: Math.min(least.row, row) };
    most = { place: Math.max(most.place, place), row: Math.max(most.row, row) };
  }
  const isShort = most.place - least.place <= SHORT_MAX && most.row - least.row <= SHORT_MAX;
  const [count, { place: firstPlace, row: firstRow }] = [postings.length, least];
  const bytes = new Uint8Array(DOUBLE * (HEADER + count) + 2 * count * (isShort ? SHORT : DOUBLE));
  const { header, terms, places, rows } = columnsOf(bytes, count);
  header.set([count, firstPlace, firstRow]);
  for (const [at, { term, place, row }] of sorted.entries()) {
    terms[at] = term;
    places[at] = place - firstPlace;
    rows[at] = row - firstRow;
  }
  return bytes;
};

const columnsOf = ({ buffer, byteOffset, byteLength }: Uint8Array, count: number) => {
  const doubles = (from: number, length: number) => new Float64Array(buffer, byteOffset + DOUBLE * from, length);
  const [header, terms] = [doubles(0, HEADER), doubles(HEADER, count)];
  const from = HEADER + count;
  if (byteLength === DOUBLE * (from + 2 * count))
    return { header, terms, places: doubles(from, count), rows: doubles(from + count, count) };
  const shorts = (offset: number) => new Uint32Array(buffer, byteOffset + DOUBLE * from + SHORT * offset, count);
  return { header, terms, places: shorts(0), rows: shorts(count) };
};

/** Reads what was stored. */
export class StoredPostings {
  private readonly columns: ReturnType<typeof columnsOf>;
  private readonly firstPlace: number;
  private readonly firstRow: number;

  constructor(bytes: Uint8Array) {
    const [count = 0, place = 0, row = 0] = new Float64Array(bytes.buffer, bytes.byteOffset, HEADER);
    this.columns = columnsOf(bytes, count);
    this.firstPlace = place;
    this.firstRow = row;
  }

  get terms(): Iterable<number> {
    return this.columns.terms;
  }

  all(): Posting[] {
    return Array.from(this.columns.terms, (term, at) => ({ term, place: this.place(at), row: this.row(at) }));
  }

  /** Adds the documents that have a term, within bounds, to a list. @param limit no more than so many of the first or the last */
  find(term: number, { bounds, direction, limit }: Wanted, into: PostingList): void {
    const { first, end } = this.within(term, bounds);
    const from = direction === 'desc' ? Math.max(first, end - limit) : first;
    const to = direction === 'asc' ? Math.min(end, first + limit) : end;
    for (let at = from; at < to; at += 1) into.push(this.place(at), this.row(at));
  }

  count(term: number, bounds: Bounds): number {
    const { first, end } = this.within(term, bounds);
    return end - first;
  }

  /** Returns where a term begins, and where it ends. */
  private within(term: number, { from, fromRow, to, toRow }: Bounds): { first: number; end: number } {
    const { terms } = this.columns;
    const begins = firstWhere(0, terms.length, (at) => (terms[at] ?? 0) >= term);
    if (terms[begins] !== term) return { first: begins, end: begins };
    const ends = firstWhere(begins, terms.length, (at) => (terms[at] ?? 0) > term);
    const first = firstWhere(begins, ends, (at) => !this.isBefore(at, from, fromRow));
    return { first, end: firstWhere(first, ends, (at) => !this.isBefore(at, to, toRow + 1)) };
  }

  private isBefore(at: number, place: number, row: number): boolean {
    const less = this.place(at) - place;
    return less < 0 || (less === 0 && this.row(at) < row);
  }

  private place(at: number): number {
    return this.firstPlace + (this.columns.places[at] ?? 0);
  }

  private row(at: number): number {
    return this.firstRow + (this.columns.rows[at] ?? 0);
  }
}

/** Which documents are wanted, and how many of them. */
export interface Wanted {
  bounds: Bounds;
  direction: 'asc' | 'desc';
  limit: number;
}

/** Returns the first index from which on a condition holds, or the end. */
const firstWhere = (from: number, end: number, holds: (at: number) => boolean): number => {
  let [low, high] = [from, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};
