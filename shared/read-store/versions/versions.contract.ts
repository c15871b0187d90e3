import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReadStore } from '../read-store.ts';
import { FIRST_ONLY, type StoredVersions } from './stored-versions.ts';

/** Defines what every adapter of the port does with the versions of read models. */
export const versionsContract = (engine: string, open: () => Promise<ReadStore>): void => {
  describe(`versions of read models in a read store on ${engine}`, () => {
    let store: ReadStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());
    const withCurrent = (current: number): StoredVersions => ({ ...FIRST_ONLY, current });

    it('are none at first, and then as one of many writers has replaced what it had read', async () => {
      const model = 'versions-raced';
      expect((await store.versions()).get(model)).toBeUndefined();
      let expected: StoredVersions | undefined;
      for (let round = 1; round < 5; round += 1) {
        const offered = Array.from({ length: 8 }, (_, at) => withCurrent(100 * round + at));
        const done = await Promise.all(offered.map((next) => store.replaceVersions(model, expected, next)));
        expect(done.filter(Boolean)).toHaveLength(1);
        expected = (await store.versions()).get(model);
        expect(expected).toEqual(offered[done.indexOf(true)]);
      }
      expect(await store.replaceVersions(model, withCurrent(1), withCurrent(2))).toBe(false);
      expect(await store.replaceVersions(model, undefined, withCurrent(2))).toBe(false);
    });

    it('are removed with their documents, index and checkpoint, and can be made anew', async () => {
      const [name, other] = ['versions-a-v1.2', 'versions-b-v1.2'];
      const search = { segment: () => 1, terms: () => [1], order: () => 1 };
      const define = () =>
        store.define([
          { name, indexes: [['rank']], search },
          { name: other, indexes: [] },
        ]);
      const put = (collection: string, position: number) =>
        store.apply(name, [{ collection, id: 'one', position, document: { rank: 1 } }], position);
      await define();
      for (const collection of [name, other]) await put(collection, 7);
      await store.remove(name, [name, other]);
      expect([...(await store.sizes([name, other])).keys()]).toEqual([]);
      expect(await store.position(name)).toBe(0);
      await store.remove(name, [name, other]);
      await define();
      expect(await store.find(name, {})).toEqual([]);
      await put(name, 3);
      expect(await store.getMany(name, ['one'])).toEqual(
        new Map([['one', { id: 'one', position: 3, document: { rank: 1 } }]]),
      );
      expect(await store.position(name)).toBe(3);
      await store.remove(name, [name, other]);
    });
  });
};
