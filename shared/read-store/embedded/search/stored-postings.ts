import { firstWhere } from '../../../primitives/first-index.ts';
import type { Bounds, PostingList } from './posting-list.ts';

/**
 * Postings as parallel columns, because they are many: the document in `rows[i]` has term `terms[i]` and order value
 * `places[i]`.
 */
export class Postings {
  readonly terms: number[] = [];
  readonly places: number[] = [];
  readonly rows: number[] = [];

  get length(): number {
    return this.terms.length;
  }

  add(term: number, place: number, row: number): void {
    this.terms.push(term);
    this.places.push(place);
    this.rows.push(row);
  }
}

const DOUBLE = Float64Array.BYTES_PER_ELEMENT;
const SHORT = Uint32Array.BYTES_PER_ELEMENT;
const SHORT_MAX = 2 ** 32 - 1;
const HEADER = 3;

/**
 * Encodes postings as columns, sorted by term, place and row. First the count, the least place and the least row; then
 * all terms; then each place and each row as its difference from the least, in 4 bytes if all fit, else in 8. Stored
 * data, which changes only with a new version.
 */
export const storePostings = (postings: Postings): Uint8Array => {
  const { length: count } = postings;
  const [place, row] = [boundsOf(postings.places), boundsOf(postings.rows)];
  const isShort = place.most - place.least <= SHORT_MAX && row.most - row.least <= SHORT_MAX;
  const bytes = new Uint8Array(DOUBLE * (HEADER + count) + 2 * count * (isShort ? SHORT : DOUBLE));
  const { header, terms, places, rows } = columnsOf(bytes, count);
  header.set([count, place.least, row.least]);
  for (const [to, at] of inOrderOf(postings).entries()) {
    terms[to] = postings.terms[at] ?? 0;
    places[to] = (postings.places[at] ?? 0) - place.least;
    rows[to] = (postings.rows[at] ?? 0) - row.least;
  }
  return bytes;
};

/** Returns the indexes of postings in sorted order. */
const inOrderOf = ({ terms, places, rows }: Postings): number[] => {
  const by = (column: readonly number[], one: number, other: number) => (column[one] ?? 0) - (column[other] ?? 0);
  return Array.from(terms.keys()).sort(
    (one, other) => by(terms, one, other) || by(places, one, other) || by(rows, one, other),
  );
};

const boundsOf = (numbers: readonly number[]): { least: number; most: number } => {
  let [least, most] = [Infinity, 0];
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > most) most = number;
  }
  return { least, most };
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

/** Reads stored postings. */
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

  /** Adds all postings to others, except those for which `isLeftOut` holds. */
  addTo(postings: Postings, isLeftOut: (term: number, place: number, row: number) => boolean = () => false): void {
    for (const [at, term] of this.columns.terms.entries()) {
      const [place, row] = [this.place(at), this.row(at)];
      if (!isLeftOut(term, place, row)) postings.add(term, place, row);
    }
  }

  /**
   * Appends the documents that have a term, within bounds, to a list.
   * @param limit at most this many of the first or the last
   */
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

  /** Returns the range of indexes of a term within bounds. */
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
