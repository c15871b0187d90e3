import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../schemas/json.ts';
import type { Filter, FindOptions, ReadStore } from './read-store.ts';

/** Defines what every adapter of the port must do, on collections that are empty at first. */
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

    it('returns documents by id, complete', async () => {
      const document = { group: 'a', nested: { list: [1, null, 'x'], deep: { yes: true } }, big: '9'.repeat(78) };
      await put({ one: document }, 3);
      const found = await store.getMany(collection, ['one', 'none']);
      expect([...found]).toEqual([['one', { id: 'one', position: 3, document }]]);
    });

    it('keeps the newest version of a document and of the position, in any order and with repeated changes', async () => {
      await put({ one: { rank: 2 } }, 2);
      await put({ one: { rank: 1 }, two: { rank: 1 } }, 1);
      await put({ one: { rank: 1 } }, 1);
      expect((await store.getMany(collection, ['one'])).get('one')).toMatchObject({
        position: 2,
        document: { rank: 2 },
      });
      expect((await store.getMany(collection, ['two'])).get('two')).toMatchObject({ position: 1 });
      expect(await store.position(collection)).toBe(2);
    });

    it('applies only newer changes, whatever isNew says', async () => {
      const hints = [true, false].flatMap((one) => [true, false].map((other) => [one, other] as const));
      for (const [index, [first, later]] of hints.entries()) {
        const id = `hinted-${String(index)}`;
        const rankAfter = async (position: number, rank: number, isNew: boolean) => {
          await store.apply(collection, [{ collection, id, position, document: { rank }, isNew }], position);
          return (await store.getMany(collection, [id])).get(id)?.document;
        };
        expect(await rankAfter(5, 1, first)).toEqual({ rank: 1 });
        expect(await rankAfter(5, 1, later)).toEqual({ rank: 1 });
        expect(await rankAfter(4, 9, later)).toEqual({ rank: 1 });
        expect(await rankAfter(6, 0, later)).toEqual({ rank: 0 });
      }
    });

    it('advances a position without any document', async () => {
      expect(await store.position(`${collection}-idle`)).toBe(0);
      await store.apply(`${collection}-idle`, [], 9);
      expect(await store.position(`${collection}-idle`)).toBe(9);
    });

    it('keeps with a position the event that was named last, and neither goes back', async () => {
      const name = `${collection}-named`;
      const stored = async () => (await store.checkpoints()).get(name);
      const event = (revision: number) => ({
        id: `id-${String(revision)}`,
        stream: 'user-1',
        revision,
        position: revision,
      });
      expect(await stored()).toBeUndefined();
      await store.apply(name, [], 3);
      expect(await stored()).toEqual({ position: 3 });
      await store.apply(name, [], 3, event(2));
      expect(await stored()).toEqual({ position: 3, event: event(2) });
      await store.apply(name, [], 9);
      expect(await stored()).toEqual({ position: 9, event: event(2) });
      await store.apply(name, [], 5, event(5));
      expect(await stored()).toEqual({ position: 9, event: event(2) });
      await store.apply(name, [], 10, event(10));
      expect(await stored()).toEqual({ position: 10, event: event(10) });
      const many = Array.from({ length: 20 }, (_, index) => index + 11);
      await Promise.all(many.map((position) => store.apply(`${name}-raced`, [], position, event(position))));
      expect((await store.checkpoints()).get(`${name}-raced`)).toEqual({ position: 30, event: event(30) });
    });

    it('filters by members, indexed, not indexed or nested, by lists, ranges, booleans and null', async () => {
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

    it('sorts by several members and returns pages', async () => {
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

    it('treats hostile member names and values as data', async () => {
      await put({ a: { group: "'; DROP TABLE x; --", 'we"ird': 1 } }, 1);
      expect(await ids({ filter: { group: "'; DROP TABLE x; --" } })).toEqual(['a']);
      expect(await ids({ filter: { '__proto__.x': 'y' } })).toEqual([]);
      expect(await ids({ filter: { [`x' OR '1'='1`]: 'y' } })).toEqual([]);
    });

    it('adds an index to a collection that has documents', async () => {
      await put({ a: { group: 'x', other: 2 }, b: { group: 'x', other: 1 } }, 1);
      await store.define([{ name: collection, indexes: [['group', 'rank'], ['flag'], ['other']] }]);
      expect(await ids({ filter: { other: { gte: 2 } } })).toEqual(['a']);
      await put({ c: { group: 'x', other: 3 } }, 2);
      expect(await ids({ sort: [['other', 'asc']] })).toEqual(['b', 'a', 'c']);
    });

    it.each(['', 'a\u0000b', '\ud800', 'ünï', '1', '{}'])(
      'stores text complete that queries use: %j',
      async (group) => {
        await put({ a: { group, rank: 1 } }, 1);
        expect((await store.getMany(collection, ['a'])).get('a')?.document).toEqual({ group, rank: 1 });
        expect((await store.find(collection, { filter: { rank: 1 } }))[0]?.document).toEqual({ group, rank: 1 });
      },
    );

    it('stores every member complete, whatever its name and value', async () => {
      const text = String.raw`{"$set":{"a.b":1},"__proto__":{"x":[{"$ref":"y"}]},"_bsontype":"Long","":{"%":"1","10":2,"2":null},"%":"{}",
        "a\u0000b":"\u0000","\ud800":"\udfff","list":[[],[null,{"$gt":""}]],"id":"of its own","position":-1.5,"big":9007199254740991,"tiny":5e-324}`;
      const deep = `${'{"in":'.repeat(150)}[1]${'}'.repeat(150)}`;
      for (const [position, json] of [text, deep].entries()) {
        await put({ a: JSON.parse(json) as JsonObject }, position + 1);
        const found = (await store.getMany(collection, ['a'])).get('a')?.document;
        expect(JSON.stringify(found)).toBe(JSON.stringify(JSON.parse(json)));
      }
    });

    it('returns members that follow from others, and those that do not, also of documents that were stored before', async () => {
      const derived = { name: ({ rank }: JsonObject) => `number ${JSON.stringify(rank)}` };
      const documents: Record<string, JsonObject> = {
        follows: { group: 'x', rank: 1, name: 'number 1' },
        differs: { group: 'x', rank: 2, name: 'another' },
        'is null': { group: 'y', rank: 3, name: null },
      };
      await put({ before: { group: 'x', rank: 0, name: 'number 0' } }, 1);
      await store.define([{ name: collection, indexes: [['group', 'rank'], ['flag']], derived }]);
      await put(documents, 2);
      await put({ differs: { group: 'x', rank: 4, name: 'number 4' } }, 3);
      const found = await store.find(collection, { sort: [['rank', 'asc']] });
      expect(found.map(({ document }) => document)).toEqual([
        { group: 'x', rank: 0, name: 'number 0' },
        documents['follows'],
        documents['is null'],
        { group: 'x', rank: 4, name: 'number 4' },
      ]);
    });

    it('finds members by names that have a meaning to an engine', async () => {
      await put({ a: JSON.parse('{"$where":"x","__proto__":{"%":"y"},"_bsontype":{"10":2}}') as JsonObject }, 1);
      await put({ b: { group: 'z' } }, 2);
      expect(await ids({ filter: { $where: 'x' } })).toEqual(['a']);
      expect(await ids({ filter: { '__proto__.%': 'y', '_bsontype.10': 2 } })).toEqual(['a']);
      for (const hostile of ['$or', '$expr', '', '.', 'a..b', 'group.$where', 'we"ird', "'"]) {
        expect(await ids({ filter: { [hostile]: 'x' } })).toEqual([]);
      }
    });

    it('never treats a value as a condition', async () => {
      await put({ a: { group: 'x' } }, 1);
      const hostile = JSON.parse('{"$ne":"y"}') as { gte?: string };
      const inList = [hostile as unknown as string];
      for (const filter of [{ group: { gte: hostile as unknown as string } }, { group: { in: inList } }]) {
        expect(await ids({ filter }).catch(() => [])).toEqual([]);
      }
    });

    it('matches a missing member with null, and nothing with a value that is not scalar', async () => {
      await put(
        { a: {}, b: { group: null, other: null }, c: { group: [], other: {} }, d: { group: 'x', other: 1 } },
        1,
      );
      const sort = [['id', 'asc']] as const;
      for (const member of ['group', 'other']) {
        expect(await ids({ filter: { [member]: null }, sort })).toEqual(['a', 'b']);
        expect(await ids({ filter: { [member]: { in: [null] } } })).toEqual([]);
        expect(await ids({ filter: { [member]: { gte: null } } })).toEqual([]);
        for (const text of ['[]', '{}']) expect(await ids({ filter: { [member]: text } })).toEqual([]);
      }
    });

    it('never matches a document by an element of a list', async () => {
      await put({ a: { group: ['x'], other: [{ name: 'y' }, 'x'] } }, 1);
      for (const filter of [
        { group: 'x' },
        { other: 'x' },
        { 'other.name': 'y' },
        { 'other.1': 'x' },
        { 'other.length': 2 },
      ]) {
        expect(await ids({ filter })).toEqual([]);
      }
    });

    it('compares a range with values of its own type, and sorts missing values before numbers before text', async () => {
      const value = { a: '10', b: 9, c: 10, d: '9', e: null, f: [1] };
      for (const member of ['rank', 'other']) {
        const documents = Object.entries(value).map(([id, one]) => [`${member}-${id}`, { [member]: one }]);
        await put(Object.fromEntries(documents) as Record<string, JsonObject>, 1);
        const found = async (range: Filter[string]) =>
          (await ids({ filter: { [member]: range }, sort: [[member, 'asc']] })).map((id) => id.slice(-1));
        expect(await found({ gt: 9 })).toEqual(['c']);
        expect(await found({ gte: 0 })).toEqual(['b', 'c']);
        expect(await found({ gte: '' })).toEqual(['a', 'd']);
        expect(await found({ lt: '9' })).toEqual(['a']);
      }
      const sorted = await ids({ filter: { id: { gte: 'rank-', lt: 'rank-f' } }, sort: [['rank', 'desc']] });
      expect(sorted.map((id) => id.slice(-1))).toEqual(['d', 'a', 'c', 'b', 'e']);
    });

    it('returns at most the limit', async () => {
      // In parts, each of which a busy server stores in the time of one call.
      for (let from = 0; from < 1_005; from += 201) {
        const part = Array.from({ length: 201 }, (_, at) => [`id-${String(from + at)}`, { rank: from + at }] as const);
        await put(Object.fromEntries(part), 1);
      }
      expect(await ids({ limit: 0 })).toEqual([]);
      expect(await ids({})).toHaveLength(1_000);
      const sort = [['rank', 'asc']] as const;
      expect((await ids({ sort, limit: 2_000 })).at(-1)).toBe('id-1004');
      expect(await ids({ sort, skip: 1_004, limit: 2_000 })).toEqual(['id-1004']);
      expect((await store.getMany(collection, await ids({ limit: 2_000 }))).size).toBe(1_005);
      expect(await store.getMany(collection, [])).toEqual(new Map());
    });

    it('keeps the newest of many changes in one batch, however large each is', async () => {
      const positions = Array.from({ length: 300 }, (_, n) => (n * 7) % 300);
      const changes = positions.map((n) => ({
        collection,
        id: 'a',
        position: n + 1,
        document: { rank: n, group: 'x'.repeat(300 - n) },
        isNew: n % 2 === 0,
      }));
      await Promise.all(
        [0, 100, 200].map((from) => store.apply(collection, changes.slice(from, from + 100), from + 1)),
      );
      expect((await store.getMany(collection, ['a'])).get('a')).toMatchObject({
        position: 300,
        document: { rank: 299 },
      });
      expect(await store.position(collection)).toBe(201);
    });

    it('defines a collection again without changing its documents', async () => {
      await put({ a: { group: 'x' } }, 1);
      await store.define([{ name: collection, indexes: [['group', 'rank'], ['flag']] }]);
      expect(await ids({})).toEqual(['a']);
    });
  });
};
