import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../schemas/json.ts';
import type { FindOptions, ReadStore } from './read-store.ts';

/** What every adapter of the port must pass, on collections that are empty at first. */
export const readStoreContract = (name: string, open: () => Promise<ReadStore>): void => {
  describe(`read store on ${name}`, () => {
    let store: ReadStore;
    let collection: string;
    let round = 0;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());
    beforeEach(async () => {
      round += 1;
      collection = `things-${String(round)}`;
      await store.define([{ name: collection, indexes: [['group', 'rank'], ['flag']] }]);
    });
    const put = (documents: Record<string, JsonObject>, position: number) =>
      store.apply(
        collection,
        Object.entries(documents).map(([id, document]) => ({ collection, id, position, document })),
        position,
      );
    const ids = async (options: FindOptions) => (await store.find(collection, options)).map(({ id }) => id);

    it('gives back documents by id, whole', async () => {
      const document = { group: 'a', nested: { list: [1, null, 'x'], deep: { yes: true } }, big: '9'.repeat(78) };
      await put({ one: document }, 3);
      const found = await store.getMany(collection, ['one', 'none']);
      expect([...found]).toEqual([['one', { id: 'one', position: 3, document }]]);
    });

    it('keeps the newest of a document and the position, in whatever order and however often changes come', async () => {
      await put({ one: { rank: 2 } }, 2);
      await put({ one: { rank: 1 }, two: { rank: 1 } }, 1);
      await put({ one: { rank: 20 } }, 2);
      expect((await store.getMany(collection, ['one'])).get('one')).toMatchObject({
        position: 2,
        document: { rank: 2 },
      });
      expect((await store.getMany(collection, ['two'])).get('two')).toMatchObject({ position: 1 });
      expect(await store.position(collection)).toBe(2);
    });

    it('moves a position on without any document', async () => {
      expect(await store.position(`${collection}-idle`)).toBe(0);
      await store.apply(`${collection}-idle`, [], 9);
      expect(await store.position(`${collection}-idle`)).toBe(9);
    });

    it('filters by members, indexed or not, nested, by lists, ranges, booleans and null', async () => {
      await put({ a: { group: 'x', rank: 1, flag: true, other: { name: 'p' } } }, 1);
      await put({ b: { group: 'x', rank: 2, flag: false, other: { name: 'q' } } }, 2);
      await put({ c: { group: 'y', rank: 3, flag: false, other: { name: null } } }, 3);
      const sort = [['rank', 'asc']] as const;
      expect(await ids({ filter: { group: 'x' }, sort })).toEqual(['a', 'b']);
      expect(await ids({ filter: { flag: false }, sort })).toEqual(['b', 'c']);
      expect(await ids({ filter: { rank: { gte: 2 } }, sort })).toEqual(['b', 'c']);
      expect(await ids({ filter: { rank: { gt: 1, lt: 3 } }, sort })).toEqual(['b']);
      expect(await ids({ filter: { group: { in: ['y', 'z'] } }, sort })).toEqual(['c']);
      expect(await ids({ filter: { group: { in: [] } }, sort })).toEqual([]);
      expect(await ids({ filter: { 'other.name': 'q' }, sort })).toEqual(['b']);
      expect(await ids({ filter: { 'other.name': null }, sort })).toEqual(['c']);
      expect(await ids({ filter: { 'other.missing': 'q' }, sort })).toEqual([]);
      expect(await store.count(collection, { group: 'x' })).toBe(2);
    });

    it('sorts by several members and gives pages', async () => {
      await put(
        { a: { group: 'x', rank: 2 }, b: { group: 'y', rank: 1 }, c: { group: 'x', rank: 1 }, d: { group: 'z' } },
        1,
      );
      const sort = [
        ['group', 'desc'],
        ['rank', 'asc'],
      ] as const;
      expect(await ids({ sort })).toEqual(['d', 'b', 'c', 'a']);
      expect(await ids({ sort, skip: 1, limit: 2 })).toEqual(['b', 'c']);
    });

    it('filters and sorts by id', async () => {
      await put({ 'a:1': {}, 'a:2': {}, 'b:1': {} }, 1);
      expect(await ids({ filter: { id: { gte: 'a:', lt: 'b:' } }, sort: [['id', 'desc']] })).toEqual(['a:2', 'a:1']);
    });

    it('takes hostile member names and values as data', async () => {
      await put({ a: { group: "'; DROP TABLE x; --", 'we"ird': 1 } }, 1);
      expect(await ids({ filter: { group: "'; DROP TABLE x; --" } })).toEqual(['a']);
      expect(await ids({ filter: { '__proto__.x': 'y' } })).toEqual([]);
      expect(await ids({ filter: { [`x' OR '1'='1`]: 'y' } })).toEqual([]);
    });

    it('takes an index more on a collection that has documents', async () => {
      await put({ a: { group: 'x', other: 2 }, b: { group: 'x', other: 1 } }, 1);
      await store.define([{ name: collection, indexes: [['group', 'rank'], ['flag'], ['other']] }]);
      expect(await ids({ filter: { other: { gte: 2 } } })).toEqual(['a']);
      await put({ c: { group: 'x', other: 3 } }, 2);
      expect(await ids({ sort: [['other', 'asc']] })).toEqual(['b', 'a', 'c']);
    });

    it('defines a collection again without touching it', async () => {
      await put({ a: { group: 'x' } }, 1);
      await store.define([{ name: collection, indexes: [['group', 'rank'], ['flag']] }]);
      expect(await ids({})).toEqual(['a']);
    });
  });
};
