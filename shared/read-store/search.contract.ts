import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '../../schemas/json.ts';
import { QueryBudget } from './query-budget.ts';
import type { Hit, ReadStore, Search, SearchIndex } from './read-store.ts';

/** The index entry of each document, stored in the document itself. */
interface Searched extends JsonObject {
  segment: number;
  order: number;
  terms: number[];
}

const search: SearchIndex = {
  segment: (_, document) => (document as Searched).segment,
  terms: (_, document) => (document as Searched).terms,
  order: (_, document) => (document as Searched).order,
};
const budget = new QueryBudget({ caller: 'someone' });
const everywhere = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** Defines how every adapter of the port must find documents by their terms. */
export const searchContract = (name: string, open: () => Promise<ReadStore>): void => {
  describe(`searching on ${name}`, () => {
    let store: ReadStore;
    let collection: string;
    let round = 0;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());
    beforeEach(async () => {
      round += 1;
      collection = `searched-${String(round)}`;
      await store.define([{ name: collection, indexes: [['order']], search }]);
    });

    const put = (documents: Record<string, Searched>, position = 1, isNew = true) =>
      store.apply(
        collection,
        Object.entries(documents).map(([id, document]) => ({ collection, id, position, document, isNew })),
        position,
      );
    const found = async (wanted: Partial<Search>, direction: 'asc' | 'desc' = 'asc', limit = 1_000) => {
      const hits = await store.search(collection, { ...everywhere, anyOf: [], ...wanted, direction, limit }, budget);
      const references = hits.map(({ reference }) => reference);
      return (await store.getFound(collection, references, budget)).map(({ id }) => id);
    };
    const count = (wanted: Partial<Search>) =>
      store.countFound(collection, { ...everywhere, anyOf: [], ...wanted }, budget);
    const inSegment = (segment: number, ...terms: number[]) => ({ anyOf: [{ segment, terms }] });

    it('finds the documents of a segment that have a term, complete and in order', async () => {
      const late = { segment: 1, order: 30, terms: [7, 8], other: { list: ['x'] } };
      await put({
        late,
        early: { segment: 1, order: 10, terms: [7] },
        elsewhere: { segment: 2, order: 20, terms: [7] },
        without: { segment: 1, order: 20, terms: [8] },
      });
      expect(await found(inSegment(1, 7))).toEqual(['early', 'late']);
      expect(await found(inSegment(1, 7), 'desc')).toEqual(['late', 'early']);
      expect(await found(inSegment(1, 9))).toEqual([]);
      expect(await found(inSegment(3, 7))).toEqual([]);
      expect(await found({ anyOf: [] })).toEqual([]);
      const [hit] = await store.search(
        collection,
        { ...everywhere, ...inSegment(1, 7), direction: 'desc', limit: 1 },
        budget,
      );
      expect(hit?.order).toBe(30);
      const references = hit ? [hit.reference] : [];
      expect(await store.getFound(collection, references, budget)).toEqual([
        { id: 'late', position: 1, document: late },
      ]);
    });

    it('finds no more than the limit, and what is within the range', async () => {
      await put(
        Object.fromEntries([1, 2, 3, 4, 5].map((order) => [`at-${String(order)}`, { segment: 1, order, terms: [7] }])),
      );
      expect(await found(inSegment(1, 7), 'asc', 2)).toEqual(['at-1', 'at-2']);
      expect(await found(inSegment(1, 7), 'desc', 2)).toEqual(['at-5', 'at-4']);
      expect(await found(inSegment(1, 7), 'asc', 0)).toEqual([]);
      expect(await found({ ...inSegment(1, 7), from: 2, to: 4 })).toEqual(['at-2', 'at-3', 'at-4']);
      expect(await found({ ...inSegment(1, 7), from: 4, to: 2 })).toEqual([]);
      expect(await count({ ...inSegment(1, 7), from: 2, to: 4 })).toBe(3);
    });

    it('tells documents of one order apart, in the same sequence each time', async () => {
      const ids = Array.from({ length: 20 }, (_, at) => `twin-${String((at * 7) % 20)}`);
      await put(Object.fromEntries(ids.map((id, at) => [id, { segment: at % 2, order: 5, terms: [7] }])));
      const wanted = { anyOf: [0, 1].map((segment) => ({ segment, terms: [7] })) };
      const all = await found(wanted);
      expect(all.toSorted()).toEqual(ids.toSorted());
      expect(await found(wanted, 'asc', 9)).toEqual(all.slice(0, 9));
      expect(await found(wanted, 'desc')).toEqual(all.toReversed());
    });

    it('goes on after each document that it found, also where others have its order', async () => {
      const ids = Array.from({ length: 24 }, (_, at) => `some-${String((at * 7) % 24)}`);
      await put(
        Object.fromEntries(ids.map((id, at) => [id, { segment: at % 2, order: Math.floor(at / 5), terms: [7, 8] }])),
      );
      const shapes = [
        [0, 1].map((segment) => ({ segment, terms: [7] })),
        [0, 1].map((segment) => ({ segment, terms: [7, 8] })),
      ];
      const different = [
        { segment: 0, terms: [7] },
        { segment: 1, terms: [8] },
      ];
      for (const anyOf of [...shapes, different]) {
        for (const direction of ['asc', 'desc'] as const) {
          const from = (after: Hit | undefined, limit: number) =>
            store.search(collection, { ...everywhere, anyOf, direction, limit, after }, budget);
          const all = await from(undefined, 100);
          expect(all).toHaveLength(24);
          for (const [at, hit] of all.entries()) expect(await from(hit, 3)).toEqual(all.slice(at + 1, at + 4));
        }
      }
    });

    it('finds a document by what it has become, however often older changes come', async () => {
      const before = { segment: 1, order: 10, terms: [7, 8] };
      const after = { segment: 2, order: 20, terms: [8, 9] };
      await put({ a: before }, 1);
      for (const isNew of [true, false]) {
        await put({ a: after }, 2, isNew);
        await put({ a: before }, 1, isNew);
        expect(await found(inSegment(2, 9))).toEqual(['a']);
        expect(await found(inSegment(2, 8))).toEqual(['a']);
        expect(await found(inSegment(1, 7))).toEqual([]);
        expect(await found(inSegment(1, 8))).toEqual([]);
      }
      await put({ a: { ...after, terms: [8] } }, 3);
      expect(await count(inSegment(2, 8))).toBe(1);
      expect(await count(inSegment(2, 9))).toBe(0);
      await put({ a: { ...after, terms: [] } }, 4);
      expect(await count(inSegment(2, 8))).toBe(0);
    });

    it('tells large numbers apart', async () => {
      const [large, larger] = [Number.MAX_SAFE_INTEGER - 2, Number.MAX_SAFE_INTEGER - 1];
      await put({
        a: { segment: large, order: large, terms: [large] },
        b: { segment: larger, order: larger, terms: [larger] },
      });
      expect(await found(inSegment(large, large))).toEqual(['a']);
      expect(await found({ ...inSegment(larger, larger), from: larger })).toEqual(['b']);
      expect(await count({ ...inSegment(large, large), from: larger })).toBe(0);
    });

    it('finds and counts what was stored at once and apart, also when some of it changes or is stored no more', async () => {
      const some = (from: number, to: number, terms: number[]) =>
        Object.fromEntries(
          Array.from({ length: to - from }, (_, at) => {
            const order = Math.floor((from + at) / 2);
            return [`n-${String(from + at)}`, { segment: order % 2, order, terms }];
          }),
        );
      const both = (term: number, ...others: number[]) => ({
        anyOf: [0, 1].map((segment) => ({ segment, terms: [term, ...others] })),
      });
      await put(some(40, 80, [7, 8]), 1);
      await put(some(0, 40, [7]), 2);
      await put(some(80, 81, [7, 9]), 3);
      const all = Array.from({ length: 81 }, (_, at) => Math.floor(at / 2));
      const expectFound = async (wanted: Partial<Search>, orders: readonly number[]) => {
        expect(await count(wanted)).toBe(orders.length);
        for (const direction of ['asc', 'desc'] as const) {
          const hits = await store.search(
            collection,
            { ...everywhere, anyOf: [], ...wanted, direction, limit: 100 },
            budget,
          );
          expect(hits.map(({ order }) => order)).toEqual(direction === 'asc' ? orders : orders.toReversed());
        }
      };
      await expectFound(both(7), all);
      await expectFound({ ...both(7), from: 5, to: 33 }, all.slice(10, 68));
      await expectFound(both(8, 7), all.slice(40, 80));
      await expectFound(both(9, 7), [40]);
      // One document is the first of those stored with it, the others are in the middle.
      await put(some(40, 41, [8]), 4);
      await put(some(50, 60, []), 4);
      await expectFound(both(7), [...all.slice(0, 40), ...all.slice(41, 50), ...all.slice(60)]);
      await expectFound(both(8, 7), [...all.slice(41, 50), ...all.slice(60, 80)]);
      await put(some(50, 55, [7]), 5);
      await put(some(40, 80, [9]), 6);
      await expectFound(both(7), [...all.slice(0, 40), 40]);
      await put({ ...some(40, 80, [7]), ...some(0, 40, []) }, 7);
      await expectFound(both(7), all.slice(40));
      await expectFound(both(8), []);
    });

    it('finds what a batch stores and changes', async () => {
      const change = (id: string, position: number, terms: number[]) => ({
        ...{ collection, id, position },
        document: { segment: 1, order: Number(id), terms },
      });
      const first = ['1', '2', '3', '4', '5'].map((id) => change(id, 1, [7]));
      await store.apply(collection, [...first, change('3', 2, [8]), change('6', 2, [7])], 2);
      expect(await found(inSegment(1, 7))).toEqual(['1', '2', '4', '5', '6']);
      expect(await found(inSegment(1, 8))).toEqual(['3']);
      expect(await count(inSegment(1, 7))).toBe(5);
    });

    it('finds what looking through all documents finds', async () => {
      const few = fc.integer({ min: 0, max: 3 });
      const document = fc.record({
        segment: few,
        order: fc.integer({ min: 0, max: 20 }),
        terms: fc.uniqueArray(few, { maxLength: 4 }),
      });
      const documents = fc.sample(document, { numRuns: 300, seed: 1 });
      const named = (some: readonly Searched[], from: number) =>
        Object.fromEntries(some.map((one, at) => [`n-${String(from + at)}`, one]));
      await put(named(documents.slice(0, 150), 0), 1);
      // These replace a third of the others.
      await put(named(documents.slice(150), 100), 2);
      const stored = await store.find(collection, { limit: 1_000 });
      expect(stored.length).toBe(250);
      const wanted = fc.record({
        anyOf: fc
          .tuple(fc.integer({ min: 1, max: 3 }), fc.uniqueArray(few, { minLength: 1, maxLength: 4 }))
          .chain(([terms, segments]) =>
            fc.tuple(
              ...segments.map((segment) =>
                fc.uniqueArray(few, { minLength: terms, maxLength: terms }).map((some) => ({ segment, terms: some })),
              ),
            ),
          ),
        from: fc.integer({ min: 0, max: 20 }),
        to: fc.integer({ min: 0, max: 25 }),
      });
      for (const one of fc.sample(wanted, { numRuns: 60, seed: 2 })) {
        const expected = stored
          .map(({ id, document: some }) => ({ id, ...(some as Searched) }))
          .filter(({ order }) => order >= one.from && order <= one.to)
          .filter(({ segment, terms }) =>
            one.anyOf.some((any) => any.segment === segment && any.terms.every((term) => terms.includes(term))),
          );
        const ids = await found(one);
        const orders = ids.map((id) => expected.find((any) => any.id === id)?.order);
        expect(ids.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
        expect(orders).toEqual(orders.toSorted((left = NaN, right = NaN) => left - right));
        expect(await count(one)).toBe(expected.length);
      }
    });

    it('refuses when the time is over, and gives up when nobody waits', async () => {
      await put({ a: { segment: 1, order: 10, terms: [7] } });
      const over = new QueryBudget({ caller: 'someone', withinMs: 0 });
      const gone = new QueryBudget({ caller: 'someone', signal: AbortSignal.abort(new Error('the caller went away')) });
      const calls = (some: QueryBudget) => [
        () => store.search(collection, { ...everywhere, ...inSegment(1, 7), direction: 'asc', limit: 1 }, some),
        () => store.countFound(collection, { ...everywhere, ...inSegment(1, 7) }, some),
        () => store.getFound(collection, ['1'], some),
      ];
      for (const call of calls(over)) await expect(call()).rejects.toMatchObject({ code: 'dependency_unavailable' });
      for (const call of calls(gone)) await expect(call()).rejects.toThrow('the caller went away');
      expect(await count(inSegment(1, 7))).toBe(1);
    });
  });
};
