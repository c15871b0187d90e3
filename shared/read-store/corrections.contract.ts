import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../schemas/json.ts';
import { QueryBudget } from './query-budget.ts';
import type { Correction, ReadStore } from './read-store.ts';

/** Defines what every adapter of the port does for operators who compare and repair read models. */
export const correctionsContract = (engine: string, open: () => Promise<ReadStore>): void => {
  describe(`documents that are corrected in a read store on ${engine}`, () => {
    let store: ReadStore;
    const [plain, searched] = ['corrected-plain', 'corrected-searched'];
    const search = {
      segment: () => 1,
      terms: (_: string, { term }: JsonObject) => [Number(term)],
      order: (_: string, { rank }: JsonObject) => Number(rank),
    };
    beforeAll(async () => {
      store = await open();
      await store.define([
        { name: plain, indexes: [['rank']] },
        { name: searched, indexes: [], search },
      ]);
    });
    afterAll(() => store.close());
    const put = (collection: string, id: string, position: number, document: JsonObject) =>
      store.apply(collection, [{ collection, id, position, document }], position);
    const get = async (collection: string, id: string) => (await store.getMany(collection, [id])).get(id);
    const correct = (collection: string, id: string, expected?: number, position?: number, document?: JsonObject) => {
      const next = position !== undefined && document ? { id, position, document } : undefined;
      const correction: Correction = { id, expected, correct: next };
      return store.correct(collection, [correction]);
    };

    it('are replaced at the same, an earlier or a later position, added and removed', async () => {
      for (const position of [7, 3, 9]) {
        await put(plain, `at ${String(position)}`, 7, { rank: 1 });
        await correct(plain, `at ${String(position)}`, 7, position, { rank: 2 });
        const corrected = { id: `at ${String(position)}`, position, document: { rank: 2 } };
        expect(await get(plain, corrected.id)).toEqual(corrected);
      }
      expect(await store.count(plain, { rank: 2 })).toBe(3);
      await correct(plain, 'added', undefined, 4, { rank: 5 });
      expect(await store.find(plain, { filter: { rank: 5 } })).toEqual([
        { id: 'added', position: 4, document: { rank: 5 } },
      ]);
      await correct(plain, 'added', 4);
      expect(await get(plain, 'added')).toBeUndefined();
    });

    it('stay as they are when they were stored again meanwhile', async () => {
      await put(plain, 'raced', 8, { rank: 8 });
      await correct(plain, 'raced', 7, 7, { rank: 7 });
      await correct(plain, 'raced', 7);
      await correct(plain, 'raced', undefined, 7, { rank: 7 });
      await correct(plain, 'none', 7, 7, { rank: 7 });
      await correct(plain, 'none', 7);
      await correct(plain, 'none');
      expect(await get(plain, 'raced')).toEqual({ id: 'raced', position: 8, document: { rank: 8 } });
      expect(await get(plain, 'none')).toBeUndefined();
      await put(plain, 'raced', 9, { rank: 9 });
      expect((await get(plain, 'raced'))?.document).toEqual({ rank: 9 });
    });

    it('are found by what they contain now', async () => {
      const found = async (term: number) => {
        const anyOf = [{ segment: 1, terms: [term] }];
        const budget = new QueryBudget({ caller: 'spec' });
        const hits = await store.search(searched, { anyOf, from: 0, to: 100, direction: 'asc', limit: 10 }, budget);
        const references = hits.map(({ reference }) => reference);
        return (await store.getFound(searched, references, budget)).map(({ id }) => id);
      };
      await put(searched, 'a', 1, { term: 1, rank: 1 });
      await put(searched, 'b', 2, { term: 1, rank: 2 });
      await correct(searched, 'a', 1, 1, { term: 2, rank: 3 });
      await correct(searched, 'c', undefined, 3, { term: 2, rank: 1 });
      expect([await found(1), await found(2)]).toEqual([['b'], ['c', 'a']]);
      await correct(searched, 'b', 2);
      expect([await found(1), await found(2)]).toEqual([[], ['c', 'a']]);
    });

    it('have indexes that fit them, after all of this', async () => {
      for (const collection of [plain, searched])
        for (const repair of [false, true])
          for await (const part of store.checkIndexes(collection, repair)) expect(part).toEqual([]);
    });

    it('have a size, with their indexes, if they exist', async () => {
      const before = await store.sizes([plain, 'nowhere']);
      expect([...before.keys()]).toEqual([plain]);
      const changes = Array.from({ length: 500 }, (_, at) => {
        const document = { rank: at, text: 'x'.repeat(200) };
        return { collection: plain, id: `sized ${String(at)}`, position: 1, document };
      });
      await store.apply(plain, changes, 20);
      const after = await store.sizes([plain]);
      expect(after.get(plain)?.documents).toBe(500 + (before.get(plain)?.documents ?? 0));
      expect(after.get(plain)?.bytes).toBeGreaterThan(100_000);
    });
  });
};
