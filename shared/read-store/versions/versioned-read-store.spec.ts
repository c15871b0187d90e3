import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryReadStore } from '../../testing/engines/read-store.memory.ts';
import { FIRST_ONLY, type StoredVersions } from './stored-versions.ts';
import { FOLLOWS_WITHIN_MS, readingOneVersion, storedUnder, VersionedReadStore } from './versioned-read-store.ts';

const model = {
  name: 'things-v1',
  collections: { thing: { name: 'things-v1', indexes: [] }, head: { name: 'thing-heads-v3', indexes: [] } },
};
const both: StoredVersions = {
  current: 1,
  next: 3,
  versions: [...FIRST_ONLY.versions, { number: 2, state: 'ready', rate: null }],
};

describe('a read store with versions', () => {
  let stored: MemoryReadStore;
  let nowMs: number;
  let readStore: VersionedReadStore;
  beforeEach(async () => {
    stored = new MemoryReadStore();
    nowMs = 0;
    readStore = new VersionedReadStore(stored, [model], () => nowMs);
    await stored.define([...names('.2'), ...names('')].map((name) => ({ name, indexes: [] })));
    for (const suffix of ['', '.2']) {
      for (const collection of names(suffix)) {
        const change = { collection, id: 'one', position: 5, document: { from: collection } };
        await stored.apply(`things-v1${suffix}`, [change], 5);
      }
    }
    await stored.replaceVersions(model.name, undefined, both);
  });
  const names = (suffix: string) => Object.values(model.collections).map(({ name }) => `${name}${suffix}`);
  const switchTo = async (current: number) => {
    const known = (await stored.versions()).get(model.name);
    await stored.replaceVersions(model.name, known, { ...both, current });
  };
  const read = async () =>
    Promise.all(names('').map(async (name) => (await readStore.getMany(name, ['one'])).get('one')?.document['from']));

  it('reads every collection of the version that was chosen, 20 ms after the choice at the latest', async () => {
    expect(await read()).toEqual(names(''));
    await switchTo(2);
    nowMs += FOLLOWS_WITHIN_MS;
    expect(await read()).toEqual(names('.2'));
    expect(await readStore.find('thing-heads-v3', {})).toMatchObject([{ document: { from: 'thing-heads-v3.2' } }]);
    expect(await readStore.count('things-v1', { from: 'things-v1.2' })).toBe(1);
    await switchTo(1);
    nowMs += FOLLOWS_WITHIN_MS;
    expect(await read()).toEqual(names(''));
  });

  it('ends a query with the version with which it began', async () => {
    await readingOneVersion(async () => {
      expect((await readStore.find('things-v1', {}))[0]?.document).toEqual({ from: 'things-v1' });
      await switchTo(2);
      nowMs += FOLLOWS_WITHIN_MS;
      expect(await read()).toEqual(names(''));
      expect(await readStore.position('things-v1')).toBe(5);
    });
    expect(await readingOneVersion(read)).toEqual(names('.2'));
  });

  it('goes back in no position: it waits until the chosen version has what was seen of the other', async () => {
    await stored.apply('things-v1', [], 9);
    expect(await readStore.position('things-v1')).toBe(9);
    await switchTo(2);
    nowMs += FOLLOWS_WITHIN_MS;
    expect(await readStore.position('things-v1')).toBe(9);
    await stored.apply('things-v1.2', [], 10);
    nowMs += FOLLOWS_WITHIN_MS;
    expect([await readStore.position('things-v1'), await read()]).toEqual([10, names('.2')]);
  });

  it('reads the chosen version at once in a process that has just begun, and other names as they are', async () => {
    await switchTo(2);
    await stored.define([{ name: 'other', indexes: [] }]);
    expect(await read()).toEqual(names('.2'));
    expect(await readStore.find('other', {})).toEqual([]);
    expect(storedUnder(readStore)).toBe(stored);
    expect(storedUnder(stored)).toBe(stored);
  });

  it('takes no collection of a version for one of an earlier release, until the version is dropped', async () => {
    expect(await readStore.formerCollections(names(''))).toEqual([]);
    const known = (await stored.versions()).get(model.name);
    const versions = both.versions.map((one) => (one.number === 2 ? { ...one, state: 'dropping' as const } : one));
    await stored.replaceVersions(model.name, known, { ...both, versions });
    expect((await readStore.formerCollections(names(''))).map(({ name }) => name)).toEqual(names('.2'));
    await readStore.removeFromFormer(names(''), ['one']);
    expect(await stored.find('things-v1.2', {})).toEqual([]);
    expect(await stored.count('things-v1', {})).toBe(1);
  });
});
