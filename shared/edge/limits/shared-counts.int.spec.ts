import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { MongoReadStore } from '../../read-store/mongodb/read-store.mongo.ts';
import { SqliteReadStore } from '../../read-store/embedded/read-store.sqlite.ts';
import type { ReadStore } from '../../read-store/read-store.ts';
import { dropDatabases } from '../../testing/engines/drop-databases.mongo.ts';
import { whereServer } from '../../testing/engines/servers.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { TestClock, testFoundation } from '../../testing/test-foundation.ts';
import { RateLimits } from './rate-limits.ts';
import { SharedCounts } from './shared-counts.ts';

const RATE_LIMITS = { login: { points: 60, seconds: 300 } };
const CALLERS = 50;

const limitsOfTwoProcesses = (name: string, open: () => Promise<ReadStore>): void => {
  describe(`rate limits of two processes on ${name}`, () => {
    it('allow each caller together what one would, and what one lets through before it hears of the other', async () => {
      const clock = new TestClock();
      const foundation = await testFoundation({ clock });
      const stores = [await open(), await open()];
      const processes = stores.map((readStore) => {
        const counts = new SharedCounts({ ...foundation, readStore });
        return { counts, limits: new RateLimits({ RATE_LIMITS }, counts, clock) };
      });
      const perExchange = 4;
      const allowed = new Map<string, number>();
      for (let round = 0; round < 60; round += 1) {
        for (const { limits } of processes) {
          for (let at = 0; at < CALLERS * perExchange; at += 1) {
            const caller = `ip:${String(at % CALLERS)}`;
            if (!(await limits.count('login', caller))?.exceeded) allowed.set(caller, (allowed.get(caller) ?? 0) + 1);
          }
        }
        await Promise.all(processes.map(({ counts }) => counts.exchange()));
      }
      expect(allowed.size).toBe(CALLERS);
      for (const times of allowed.values()) {
        expect(times).toBeGreaterThanOrEqual(60);
        expect(times).toBeLessThanOrEqual(60 + 2 * perExchange);
      }
      clock.time += 300_000;
      for (const { limits } of processes) {
        for (const caller of allowed.keys()) expect((await limits.count('login', caller))?.exceeded).toBe(false);
      }
      await Promise.all(stores.map((store) => store.close()));
    });
  });
};

const folder = temporaryFolder();
limitsOfTwoProcesses('one folder', () => Promise.resolve(new SqliteReadStore(join(folder, 'read.db'))));

whereServer('MONGO_URL', (MONGO_URL) => {
  const MONGO_DATABASE = `annals-test-limits-${String(process.pid)}`;
  afterAll(() => dropDatabases(MONGO_URL, [MONGO_DATABASE]));
  limitsOfTwoProcesses('MongoDB', () =>
    MongoReadStore.connect({
      settings: { MONGO_URL, MONGO_DATABASE, NODE_ENV: 'test' },
      logger: pino({ level: 'silent' }),
    }),
  );
});
