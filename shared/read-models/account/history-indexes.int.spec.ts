import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SqliteReadStore } from '../../read-store/embedded/read-store.sqlite.ts';
import type { Filter } from '../../read-store/read-store.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { collections } from '../catalogue.ts';
import { historyModel } from './history.ts';

const file = join(temporaryFolder(), 'read.db');
const ITEMS = 20_000;
const { item } = historyModel.collections;

describe('a history of twenty thousand items', () => {
  beforeAll(async () => {
    const readStore = new SqliteReadStore(file);
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
    await readStore.close();
  });

  /** Returns what was found, and by which members of an index. */
  const read = async (filter: Filter) => {
    const readStore = new SqliteReadStore(file);
    await readStore.define(collections);
    const prepared = jest.spyOn(DatabaseSync.prototype, 'prepare');
    const items = await readStore.find(item.name, {
      ...{ filter: { userId: 'usr_1', sequence: { gt: -1 }, ...filter }, sort: [['sequence', 'asc']], limit: 11 },
    });
    const sql = prepared.mock.calls.map(([text]) => text).find((text) => text.includes('ORDER BY')) ?? '';
    prepared.mockRestore();
    await readStore.close();
    const database = new DatabaseSync(file, { readOnly: true });
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    database.close();
    return { found: items.length, plan: plan.map(({ detail }) => /\(.*\)$/.exec(String(detail))?.[0]) };
  };

  it.each<[Filter, string]>([
    [{ type: 'rare' }, 'type=?'],
    [{ app: 'rare' }, 'app=?'],
    [{ session: 'rare' }, 'session=?'],
    [{ app: 'rare', type: 'rare' }, 'app=? AND type=?'],
    [{ session: 'rare', type: 'rare' }, 'session=? AND type=?'],
    [{ session: 'rare', app: 'rare', type: 'rare' }, 'app=? AND type=?'],
    [{ session: 'often', type: 'rare' }, 'session=? AND type=?'],
    [{ app: 'often', type: 'rare' }, 'app=? AND type=?'],
  ])('is found in by %j without reading all of it', async (filter, members) => {
    const { found, plan } = await read(filter);
    expect(found).toBe(Object.values(filter).includes('often') ? 0 : 1);
    expect(plan).toEqual([`(userId=? AND ${members} AND sequence>? AND sequence<?)`]);
  });
});
