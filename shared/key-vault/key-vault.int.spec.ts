import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { dropDatabases } from '../testing/drop-databases.mongo.ts';
import { whereServer } from '../testing/servers.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { keyVaultContract } from './key-vault.contract.ts';
import { MongoKeyVault } from './key-vault.mongo.ts';
import { SqliteKeyVault } from './key-vault.sqlite.ts';

const folder = temporaryFolder();

keyVaultContract('SQLite', () => {
  const file = join(folder, 'vault.db');
  return Promise.resolve([new SqliteKeyVault(file), new SqliteKeyVault(file)]);
});

describe('key vault on SQLite', () => {
  it('leaves nothing of a destroyed key in its files', async () => {
    const vault = new SqliteKeyVault(join(folder, 'erased', 'vault.db'));
    const keys = Array.from({ length: 50 }, (_, at) => ({
      id: `data-${String(at)}`,
      sealed: `secret-of-${String(at)}.`,
      createdAt: '2026-01-02T03:04:05.678Z',
    }));
    await vault.add(keys);
    const files = () =>
      readdirSync(join(folder, 'erased')).map((file) => readFileSync(join(folder, 'erased', file), 'latin1'));
    expect(files().some((text) => text.includes('secret-of-7.'))).toBe(true);
    await vault.destroy('data-7', '2026-01-03T03:04:05.678Z');
    expect(files().some((text) => text.includes('secret-of-7.'))).toBe(false);
    expect(files().some((text) => text.includes('secret-of-8.'))).toBe(true);
    await vault.close();
  });
});

whereServer('MONGO_URL', (MONGO_URL) => {
  const MONGO_DATABASE = `annals-test-${String(process.pid)}`;
  const logger = pino({ level: 'silent' });
  const connect = () => MongoKeyVault.connect({ settings: { MONGO_URL, MONGO_DATABASE, NODE_ENV: 'test' }, logger });
  afterAll(() => dropDatabases(MONGO_URL, [`${MONGO_DATABASE}_vault`]));

  keyVaultContract('MongoDB', () => Promise.all([connect(), connect()]));
});
