import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import type { Settings } from '../../../../shared/config/settings.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { thisVault } from '../../../../shared/host/engines/this-vault.ts';
import { SqliteKeyVault } from '../../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { requireOwnVault } from '../../../../shared/key-vault/own-vault.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import { backupCommand } from './backup.commands.ts';

const root = temporaryFolder();
const DATA_DIR = await folderWithStores(join(root, 'data'));
const settings = { DATA_DIR, MASTER_KEY: undefined } as Settings;
const backups = join(root, 'backups');

/** Runs a command, and returns what it prints. */
const backup = async (args: string[], environment: Record<string, string> = {}): Promise<string> => {
  const replaced = jest.replaceProperty(process, 'env', { DATA_DIR, ...environment });
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await backupCommand().parseAsync(args, { from: 'user' });
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
    replaced.restore();
  }
};

describe('annals backup', () => {
  it('creates, verifies and restores, and says where the master key is and must be', async () => {
    const masterKey = loadMasterKey(settings);
    const [eventStore, keyVault] = [
      new SqliteEventStore(join(DATA_DIR, 'events.db')),
      new SqliteKeyVault(join(DATA_DIR, 'vault.db')),
    ];
    await requireOwnVault(thisVault({ eventStore, keyVault }, settings), { makes: true });
    await Promise.all([eventStore.close(), keyVault.close()]);
    const keyFile = join(DATA_DIR, 'master.key');
    const created = JSON.parse(await backup(['create', backups, '--json'])) as { folder: string };
    expect(created).toMatchObject({ position: 1, masterKey: keyFile });
    expect(await backup(['verify', backups])).toBe(`${created.folder} is whole\n`);
    expect(JSON.parse(await backup(['verify', created.folder, '--json']))).toMatchObject({
      backups: [{ folder: created.folder, position: 1, damage: [] }],
    });
    expect(statSync(created.folder).mode & 0o077).toBe(0);

    const [byFile, bySetting, inProduction] = ['file', 'setting', 'production'].map((name) => join(root, name));
    const fromFile = await backup(['restore', backups, '--master-key-file', keyFile], { DATA_DIR: byFile ?? '' });
    expect(fromFile).toContain(`The master key must be in ${String(byFile)}/master.key`);
    expect(readFileSync(join(byFile ?? '', 'master.key'), 'utf8')).toBe(masterKey.toString('base64'));
    const MASTER_KEY = masterKey.toString('base64');
    expect(await backup(['restore', backups], { DATA_DIR: bySetting ?? '', MASTER_KEY })).toContain(
      'The master key must be in MASTER_KEY',
    );
    expect(readdirSync(bySetting ?? '')).not.toContain('master.key');
    const production = { DATA_DIR: inProduction ?? '', NODE_ENV: 'production' };
    const restored = await backup(
      ['restore', backups, '--json', '--to', '1', '--master-key-file', keyFile],
      production,
    );
    expect(JSON.parse(restored)).toMatchObject({ position: 1, keys: 3, masterKey: 'MASTER_KEY' });
  });

  it('refuses what cannot be done, and says why', async () => {
    const empty = { DATA_DIR: join(root, 'empty') };
    await expect(backup(['create', backups], empty)).rejects.toThrow('has no stores');
    await expect(backup(['restore', backups], empty)).rejects.toThrow('set MASTER_KEY, or name a file');
    const other = join(root, 'other.key');
    writeFileSync(other, randomBytes(32).toString('base64'));
    await expect(backup(['restore', backups, '--master-key-file', other], empty)).rejects.toThrow('does not open');
    writeFileSync(other, 'short');
    await expect(backup(['restore', backups, '--master-key-file', other], empty)).rejects.toThrow('has no master key');
    for (const servers of [{ EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false' }, { MONGO_URL: 'mongodb://127.0.0.1:1' }])
      await expect(backup(['create', backups], servers)).rejects.toThrow(
        'is for the embedded event store and key vault',
      );
  });

  it('names damaged files, and ends with exit code 1', async () => {
    const [folder = ''] = readdirSync(backups).filter((name) => name.startsWith('backup-'));
    const events = join(backups, folder, 'events.db');
    writeFileSync(events, 'damaged');
    await expect(backup(['verify', backups])).rejects.toThrow('the backups have damaged files: 1');
  });
});
