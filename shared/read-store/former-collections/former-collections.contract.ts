import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../schemas/json.ts';
import { eventually } from '../../testing/eventually.ts';
import type { ReadStore } from '../read-store.ts';

/** More than are removed, or scanned, in one step. */
const MANY = 6_001;
const REMOVED_WITHIN_MS = 60_000;

/** Defines what every adapter of the port does with the collections of earlier versions. */
export const formerCollectionsContract = (engine: string, open: () => Promise<ReadStore>): void => {
  describe(`what earlier versions left in a read store on ${engine}`, () => {
    let store: ReadStore;
    const [current, indexed, plain, others] = ['v2-current', 'v1-indexed', 'v1-plain', 'v1-others'];
    beforeAll(async () => {
      store = await open();
      await store.define([
        ...[current, plain, others].map((each) => ({ name: each, indexes: [] })),
        { name: indexed, indexes: [['userId', 'at']] },
      ]);
    });
    afterAll(() => store.close());
    const put = (collection: string, documents: readonly (readonly [id: string, JsonObject])[]) =>
      store.apply(
        collection,
        documents.map(([id, document]) => ({ collection, id, position: 1, document, isNew: true })),
        7,
      );
    const idsIn = async (collection: string) => (await store.find(collection, { limit: 10_000 })).map(({ id }) => id);

    it('names former collections with the number of their documents', async () => {
      await put(plain, [['named', { userId: 'nobody' }]]);
      const found = (await store.formerCollections([current, indexed])).filter((each) => each.name === plain);
      expect(found).toEqual([{ name: plain, documents: 1 }]);
      expect((await store.formerCollections([plain])).map((each) => each.name)).not.toContain(plain);
    });

    it('removes from these every document of a person, by its id or its member userId, and nothing else', async () => {
      const documents = (userId: string): (readonly [string, JsonObject])[] =>
        Array.from({ length: MANY }, (_, at) => [`${userId}-${String(at)}`, { userId, at, text: 'x' }] as const);
      for (const collection of [current, indexed, plain]) {
        await put(collection, [
          ...documents('0xerased'),
          ...[['0xerased', { userId: null }] as const, ['0xother', { userId: '0xother', of: '0xerased' }] as const],
        ]);
      }
      await put(others, [
        ['0xerased', { username: 'a' }],
        ['0xother', { username: 'b' }],
      ]);
      // Refused where the server of a busy machine is late, and repeated, as by whoever erases.
      const remove = async () => {
        await store.removeFromFormer([current], ['0xerased', '0xgone']);
        return true;
      };
      await eventually(remove, REMOVED_WITHIN_MS, 'the documents must be removed');
      expect(await idsIn(indexed)).toEqual(['0xother']);
      expect((await idsIn(plain)).filter((id) => id.includes('erased'))).toEqual([]);
      expect(await idsIn(plain)).toContain('0xother');
      expect(await idsIn(others)).toEqual(['0xother']);
      expect(await store.count(current, {})).toBe(MANY + 2);
    });

    it('keeps the first digest of a projection, which is no progress, and its position beside it', async () => {
      const name = 'digest';
      expect(await store.keepDigest(name, 'one')).toBe('one');
      expect(await store.position(name)).toBe(0);
      await store.apply(name, [], 4);
      expect(await store.keepDigest(name, 'other')).toBe('one');
      expect(await store.position(name)).toBe(4);
      expect((await store.checkpoints()).get(name)).toEqual({ position: 4 });
      await store.apply(`${name}-later`, [], 5);
      expect(await store.keepDigest(`${name}-later`, 'other')).toBe('other');
      expect(await store.position(`${name}-later`)).toBe(5);
    });
  });
};
