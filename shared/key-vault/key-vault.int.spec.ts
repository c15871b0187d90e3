import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { pino } from 'pino';
import { nameHolder } from '../loops/lease-holder.ts';
import { dropDatabases } from '../testing/engines/drop-databases.mongo.ts';
import { whereServer } from '../testing/engines/servers.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { keyVaultContract } from './key-vault.contract.ts';
import { MongoKeyVault } from './mongodb/key-vault.mongo.ts';
import { SqliteKeyVault } from './embedded/key-vault.sqlite.ts';

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
    await vault.add(keys, undefined);
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

  describe('key vault on MongoDB', () => {
    it('is used alone, or by several', async () => {
      const [one, two, alone] = await Promise.all([connect(), connect(), connect()]);
      await one.use('shared');
      await two.use('shared');
      await expect(alone.use('alone')).rejects.toThrow('other processes use the key vault');
      await alone.close();
      await Promise.all([one.close(), two.close()]);

      const next = await connect();
      await next.use('alone');
      const late = await Promise.all([connect(), connect()]);
      await expect(late[0].use('shared')).rejects.toThrow('a command that needs it alone');
      await expect(late[1].use('alone')).rejects.toThrow('a command that needs it alone');
      await Promise.all([next, ...late].map((vault) => vault.close()));

      const last = await connect();
      await last.use('shared');
      await last.close();
    });

    it('takes the entry of a process that was killed away', async () => {
      const client = await MongoClient.connect(MONGO_URL);
      const entries = client
        .db(`${MONGO_DATABASE}_vault`)
        .collection<{ _id: string; holder: string; renewals: number }>('processes');
      const ended = spawnSync(process.execPath, ['-e', '']).pid;
      const killed = { holder: nameHolder(ended), renewals: 7 };
      await entries.insertMany([
        { _id: 'alone', ...killed },
        { _id: 'another', ...killed },
      ]);
      const vault = await connect();
      await vault.use('alone');
      expect((await entries.find().toArray()).map(({ _id }) => _id)).toEqual(['alone']);
      await vault.close();
      expect(await entries.countDocuments()).toBe(0);
      await client.close();
    });
  });
});
