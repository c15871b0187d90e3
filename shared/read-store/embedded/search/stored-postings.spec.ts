import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inOrder, intersection, union, type PostingList } from './posting-list.ts';
import { Postings, storePostings, StoredPostings } from './stored-postings.ts';

const numberTo = (max: number) => fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max }));
const place = fc.oneof(numberTo(2 ** 20), numberTo(Number.MAX_SAFE_INTEGER - 1));
const row = fc.oneof(numberTo(2 ** 20), numberTo(2 ** 51));
const someDocuments = fc.uniqueArray(fc.tuple(place, row), { selector: ([, one]) => one, maxLength: 40 });
interface Posting {
  term: number;
  place: number;
  row: number;
}
const store = (postings: readonly Posting[]): Uint8Array => {
  const columns = new Postings();
  for (const { term, place: at, row: of } of postings) columns.add(term, at, of);
  return storePostings(columns);
};
const somePostings = fc.uniqueArray(
  fc.record({ term: fc.oneof(fc.integer({ min: 0, max: 3 }), numberTo(2 ** 52)), place, row }),
  { selector: (one) => `${String(one.term)} ${String(one.row)}`, minLength: 1, maxLength: 60 },
);
const someBounds = fc.record({ from: place, fromRow: row, to: place, toRow: row });
type Bounds = typeof someBounds extends fc.Arbitrary<infer Value> ? Value : never;

const sorted = (documents: readonly (readonly [number, number])[]): PostingList =>
  documents.toSorted((one, other) => one[0] - other[0] || one[1] - other[1]).flat();
const isWithin = ({ place: at, row: of }: Posting, { from, fromRow, to, toRow }: Bounds) =>
  (at > from || (at === from && of >= fromRow)) && (at < to || (at === to && of <= toRow));

describe('postings', () => {
  it('are found and counted by their term and within bounds', () => {
    fc.assert(
      fc.property(somePostings, someBounds, fc.nat({ max: 5 }), (postings, bounds, limit) => {
        const stored = new StoredPostings(store(postings));
        for (const term of new Set([...postings.map((one) => one.term), 4])) {
          const expected = sorted(
            postings.filter((one) => one.term === term && isWithin(one, bounds)).map((one) => [one.place, one.row]),
          );
          const find = (direction: 'asc' | 'desc', most: number) => {
            const found: PostingList = [];
            stored.find(term, { bounds, direction, limit: most }, found);
            return found;
          };
          expect(find('asc', Infinity)).toEqual(expected);
          expect(find('asc', limit)).toEqual(expected.slice(0, 2 * limit));
          expect(find('desc', limit)).toEqual(expected.slice(Math.max(0, expected.length - 2 * limit)));
          expect(stored.count(term, bounds)).toBe(expected.length / 2);
        }
      }),
    );
  });

  it('are all there', () => {
    fc.assert(
      fc.property(somePostings, (postings) => {
        const all = new Postings();
        new StoredPostings(store(postings)).addTo(all);
        const text = ({ term, place: at, row: of }: Posting) => [term, at, of].join();
        const texts = all.terms.map((term, at) => [term, all.places[at], all.rows[at]].join());
        expect(texts.toSorted()).toEqual(postings.map(text).toSorted());
      }),
    );
  });

  it('are stored in this form', () => {
    const bytes = store([
      { term: 7, place: 1_000, row: 9 },
      { term: 5, place: 1_300, row: 10 },
    ]);
    expect([...new Float64Array(bytes.buffer, 0, 5)]).toEqual([2, 1_000, 9, 5, 7]);
    expect([...new Uint32Array(bytes.buffer, 40)]).toEqual([300, 0, 1, 0]);
    const far = store([
      { term: 7, place: 1, row: 9 },
      { term: 7, place: 2 ** 33, row: 8 },
    ]);
    expect([...new Float64Array(far.buffer)]).toEqual([2, 1, 8, 7, 7, 0, 2 ** 33 - 1, 1, 0]);
  });
});

describe('a list of postings', () => {
  it('is put in order and joined with another as any list of pairs is', () => {
    fc.assert(
      fc.property(someDocuments, fc.nat(), (documents, at) => {
        const all = sorted(documents);
        expect(inOrder(documents.flat())).toEqual(all);
        const middle = at % (documents.length + 1);
        expect(union(sorted(documents.slice(0, middle)), sorted(documents.slice(middle)))).toEqual(all);
        const third = Math.floor(documents.length / 3);
        const [one, other] = [documents.slice(0, 2 * third), documents.slice(third)];
        expect(intersection(sorted(one), sorted(other))).toEqual(sorted(documents.slice(third, 2 * third)));
      }),
    );
  });
});
