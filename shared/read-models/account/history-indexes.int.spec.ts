import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SqliteReadStore } from '../../read-store/embedded/read-store.sqlite.ts';
import type { Filter } from '../../read-store/read-store.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { collections } from '../catalogue.ts';
import { historyModel } from './history.ts';

const folder = temporaryFolder();
const ITEMS = 20_000;
const { item } = historyModel.collections;

describe('a history of twenty thousand items', () => {
  let readStore: SqliteReadStore;
  beforeAll(async () => {
    readStore = new SqliteReadStore(join(folder, 'read.db'));
    await readStore.define(collections);
    const changes = Array.from({ length: ITEMS }, (_, sequence) => {
      const isRare = sequence === ITEMS - 1;
      const document = {
        ...{ userId: 'usr_1', sequence, time: new Date(1_700_000_000_000 + sequence).toISOString() },
        ...{ type: isRare ? 'rare' : 'often', app: isRare ? 'rare' : 'often', session: isRare ? 'rare' : 'often' },
      };
      return { collection: item.name, id: `usr_1:${String(sequence + 1)}`, position: sequence + 1, document };
    });
    for (let from = 0; from < ITEMS; from += 1_000)
      await readStore.apply(historyModel.name, changes.slice(from, from + 1_000), from);
  });
  afterAll(() => readStore.close());

  /** Returns the time of the fastest of some reads, and what was found. */
  const read = async (filter: Filter) => {
    let [fastestMs, found] = [Infinity, 0];
    for (let times = 0; times < 20; times += 1) {
      const from = performance.now();
      const items = await readStore.find(item.name, {
        ...{ filter: { userId: 'usr_1', sequence: { gt: -1 }, ...filter }, sort: [['sequence', 'asc']], limit: 11 },
      });
      fastestMs = Math.min(fastestMs, performance.now() - from);
      found = items.length;
    }
    return { fastestMs, found };
  };

  it.each<Filter>([
    { type: 'rare' },
    { app: 'rare' },
    { session: 'rare' },
    { app: 'rare', type: 'rare' },
    { session: 'rare', type: 'rare' },
    { session: 'rare', app: 'rare', type: 'rare' },
    { session: 'often', type: 'rare' },
    { app: 'often', type: 'rare' },
  ])('is found in by %j without reading all of it', async (filter) => {
    const first = await read({});
    const rare = await read(filter);
    expect([first.found, rare.found]).toEqual([11, Object.values(filter).includes('often') ? 0 : 1]);
    expect(rare.fastestMs).toBeLessThan(10 * first.fastestMs);
  });
});
