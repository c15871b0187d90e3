import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, it, jest } from '@jest/globals';
import { dropDatabases, emptyDatabase } from '../../../shared/testing/engines/drop-databases.mongo.ts';
import { vaultDatabase } from '../../../shared/key-vault/key-vault.ts';
import { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';
import { whereServer } from '../../../shared/testing/engines/servers.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { VaultUnderTest, type Step } from './vault-under-test.ts';

jest.setTimeout(600_000);

/** `ANNALS_VAULT_ORDERS=all` takes each order; else the first two. A seed of one's own: `ANNALS_VAULT_SEED=7`. */
const ORDERS: readonly (readonly Step[])[] = [
  ['backup', 'lose', 'look', 'start', 'restore', 'start', 'rewrap', 'rotate'],
  ['rotate', 'backup', 'rewrap', 'lose', 'rotate', 'replace', 'rewrap', 'start'],
  ['rewrap', 'backup', 'add', 'rotate', 'restore', 'replace', 'start', 'look'],
  ['backup', 'rotate', 'lose', 'restore', 'rotate', 'start', 'rewrap', 'look'],
  ['rewrap', 'rewrap', 'backup', 'lose', 'look', 'rewrap', 'restore', 'look', 'start'],
  ['backup', 'lose', 'restore', 'lose', 'replace', 'start', 'rotate', 'backup', 'lose', 'start', 'restore'],
  ['backup', 'rewrap', 'restore', 'rotate', 'backup', 'lose', 'backup', 'restore', 'add', 'start'],
];
const CHECKED_EACH_TIME = 2;
const orders = process.env['ANNALS_VAULT_ORDERS'] === 'all' ? ORDERS : ORDERS.slice(0, CHECKED_EACH_TIME);
const seed = Number(process.env['ANNALS_VAULT_SEED'] ?? '1');

const folder = temporaryFolder();

const inEveryOrder = (name: string, engines?: (at: number) => { MONGO_URL: string; MONGO_DATABASE: string }): void => {
  describe(`the key vault on ${name}, where every command is killed once and repeated`, () => {
    it.each(orders.map((order, at) => ({ order, at, title: order.join(', ') })))(
      `loses no key, and none is made in its place: $title (seed ${String(seed)})`,
      async ({ order, at }) => {
        const own = join(folder, `${name}-${String(at)}`);
        mkdirSync(own);
        const vault = new VaultUnderTest(own, engines?.(at), new SeededRandom(seed + at));
        for (const step of ['start', 'add', 'add', ...order] as const) await vault.take(step);
      },
    );
  });
};

inEveryOrder('SQLite');

whereServer('MONGO_URL', (MONGO_URL) => {
  const MONGO_DATABASE = `annals-test-${String(process.pid)}-orders`;
  const databaseOf = (at: number) => `${MONGO_DATABASE}-${String(at)}`;
  afterAll(async () => {
    for (const at of orders.keys()) {
      await dropDatabases(MONGO_URL, [databaseOf(at)]);
      await emptyDatabase(MONGO_URL, vaultDatabase(databaseOf(at)));
    }
  });
  inEveryOrder('MongoDB', (at) => ({ MONGO_URL, MONGO_DATABASE: databaseOf(at) }));
});
