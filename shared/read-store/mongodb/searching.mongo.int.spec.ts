import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { MongoClient, type Document, type Hint, type Sort } from 'mongodb';
import { pino } from 'pino';
import { dropDatabases } from '../../testing/engines/drop-databases.mongo.ts';
import { eventually } from '../../testing/eventually.ts';
import { MongoLink } from '../../testing/engines/mongo-link.mongo.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { QueryBudget } from '../query-budget.ts';
import type { SearchIndex } from '../read-store.ts';
import { MongoReadStore } from './read-store.mongo.ts';
import { searchIndexKeys } from './searching.mongo.ts';

const MONGO_DATABASE = `annals-searched-${String(process.pid)}`;
const logger = pino({ level: 'silent' });
const collection = 'things';
const index: SearchIndex = {
  segment: (_, { segment }) => Number(segment),
  terms: (_, { terms }) => terms as number[],
  order: (_, { order }) => Number(order),
};
const anyOf = [1, 2].map((segment) => ({ segment, terms: [7] }));
const range = { from: 0, to: 100 };
const shapes = {
  'one term': anyOf,
  'several terms': anyOf.map(({ segment }) => ({ segment, terms: [7, 8] })),
  'different terms': anyOf.map(({ segment }) => ({ segment, terms: [segment] })),
};

whereServer('MONGO_URL', (MONGO_URL) => {
  describe('searching on MongoDB', () => {
    let link: MongoLink;
    let store: MongoReadStore;
    let sent: Document[] = [];
    beforeAll(async () => {
      link = await MongoLink.open(MONGO_URL);
      store = await MongoReadStore.connect({
        settings: { MONGO_URL: link.url, MONGO_DATABASE, NODE_ENV: 'test' },
        logger,
      });
      await store.define([{ name: collection, indexes: [], search: index }]);
      const changes = Array.from({ length: 20 }, (_, at) => ({
        collection,
        id: `n-${String(at)}`,
        position: 1,
        document: { segment: 1 + (at % 2), order: at, terms: [7, 8, 1 + (at % 2)] },
      }));
      await store.apply('things', changes, 1);
    });
    afterEach(() => {
      link.fault = () => undefined;
    });
    afterAll(async () => {
      await store.close();
      await link.close();
      await dropDatabases(MONGO_URL, [MONGO_DATABASE]);
    });

    const record = () => {
      sent = [];
      link.fault = (command) => {
        if ([command['find'], command['aggregate']].includes(collection)) sent.push(command);
        return undefined;
      };
    };
    const budget = () => new QueryBudget({ caller: 'someone', withinMs: 3_600_000 });
    const search = (of = anyOf, by = budget()) =>
      store.search(collection, { anyOf: of, ...range, direction: 'desc', limit: 5 }, by);

    it.each(Object.entries(shapes))('of %s names the index, and the time that it may take', async (_, of) => {
      record();
      expect((await search(of)).map(({ order }) => order)).toEqual([19, 18, 17, 16, 15]);
      expect(await store.countFound(collection, { anyOf: of, ...range }, budget())).toBe(20);
      expect(sent).toHaveLength(2);
      for (const command of sent) {
        expect(command['hint']).toEqual(searchIndexKeys);
        expect(command['maxTimeMS']).toBe(4_000);
      }
      expect(sent[0]?.['sort']).toEqual({ 'newest.search.order': -1, _id: -1 });
    });

    it('has that index', async () => {
      const client = await MongoClient.connect(MONGO_URL);
      const indexes = await client.db(MONGO_DATABASE).collection(collection).indexes();
      await client.close();
      expect(indexes.map(({ key }) => key as unknown)).toContainEqual(searchIndexKeys);
    });

    it('bounds the reading of what was found', async () => {
      const [hit] = await search();
      record();
      await store.getFound(collection, hit ? [hit.reference] : [], budget());
      expect(sent).toEqual([expect.objectContaining({ maxTimeMS: expect.any(Number) })]);
    });

    it('refuses what the server ends because its time is over, and then finds again', async () => {
      const answer = { ok: 0, code: 50, codeName: 'MaxTimeMSExpired', errmsg: 'operation exceeded time limit' };
      link.fault = (command) => (command['find'] === collection ? { answer } : undefined);
      await expect(search()).rejects.toMatchObject({
        code: 'dependency_unavailable',
        detail: expect.stringContaining('too many records'),
      });
      link.fault = () => undefined;
      expect(await search()).toHaveLength(5);
    });

    it('ends the search of a caller who goes away on the server too, by its connection', async () => {
      const leaving = new AbortController();
      let isSent = false;
      link.fault = (command) => {
        if (command['find'] !== collection) return undefined;
        isSent = true;
        return 'hang';
      };
      const left = search(anyOf, new QueryBudget({ caller: 'someone', signal: leaving.signal }));
      await eventually(() => isSent, 2_000, 'the search must be sent');
      const connections = link.connections;
      leaving.abort(new Error('the caller went away'));
      await expect(left).rejects.toThrow('the caller went away');
      await eventually(() => link.connections < connections, 2_000, 'the connection must be closed');
      link.fault = () => undefined;
      expect(await search()).toHaveLength(5);
    });

    it('is explained by the server as a scan of that index only, in order', async () => {
      const client = await MongoClient.connect(MONGO_URL);
      const things = client.db(MONGO_DATABASE).collection(collection);
      const { version } = (await client.db().admin().serverInfo()) as { version: string };
      try {
        for (const of of Object.values(shapes)) {
          record();
          await search(of);
          const { filter, ...options } = (sent[0] ?? {}) as { filter: Document; sort: Sort; hint: Hint; limit: number };
          const { sort, hint, limit } = options;
          const explained: unknown = await things
            .find(filter, { sort, hint, limit })
            .explain('queryPlanner')
            .catch((error: unknown) => error);
          if (explained instanceof Error) {
            process.stderr.write(
              `The server ${version} explains no query (${explained.message}): no plan was looked at.\n`,
            );
            return;
          }
          const stages = [...JSON.stringify(explained).matchAll(/"stage":"(\w+)"/g)].map(([, stage]) => stage);
          expect(stages).toContain('IXSCAN');
          expect(stages).not.toContain('COLLSCAN');
          expect(stages).not.toContain('SORT');
        }
      } finally {
        await client.close();
      }
    });
  });
});
