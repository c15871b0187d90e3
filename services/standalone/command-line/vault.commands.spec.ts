import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { SqliteKeyVault } from '../../../shared/key-vault/key-vault.sqlite.ts';
import { sealedIn } from '../../../shared/key-vault/sealed-before.ts';
import { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { MemoryEventStore } from '../../../shared/event-store/event-store.memory.ts';
import { SqliteEventStore } from '../../../shared/event-store/event-store.sqlite.ts';
import { loadMasterKey } from '../../../shared/keys/master-key.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { auditCommand } from './audit.commands.ts';
import { keysCommand } from './keys.commands.ts';
import { vaultCommand } from './vault.commands.ts';

const DATA_DIR = temporaryFolder();
const settings = { DATA_DIR, MASTER_KEY: undefined };

const annals = async (command: () => Command, args: string[], environment = {}): Promise<string> => {
  const replaced = jest.replaceProperty(process, 'env', { DATA_DIR, ...environment });
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await command().parseAsync(args, { from: 'user' });
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
    replaced.restore();
  }
};
const vault = (...args: string[]) => annals(vaultCommand, args);
const withKeys = async <Result>(masterKey: Uint8Array, work: (keys: VaultKeys) => Promise<Result>): Promise<Result> => {
  const opened = new SqliteKeyVault(join(DATA_DIR, 'vault.db'));
  try {
    return await work(new VaultKeys(opened, masterKey, systemClock, sealedIn(new MemoryEventStore())));
  } finally {
    await opened.close();
  }
};

describe('annals vault', () => {
  it('backs up and restores keys, but none of a user whom the event store knows as erased', async () => {
    const masterKey = loadMasterKey(settings);
    const before = await withKeys(masterKey, async (keys) => {
      await keys.dataKey('usr_2');
      return keys.dataKey('usr_1');
    });
    const file = join(DATA_DIR, 'backup.ndjson');
    expect(await vault('backup', file)).toContain('has 4 keys');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect(vault('backup', file)).rejects.toThrow('exists: name another file');
    const events = new SqliteEventStore(join(DATA_DIR, 'events.db'));
    await events.append('user-usr_2', -1, [anEvent({ type: 'UserErased', data: { userId: 'usr_2' } })]);
    await events.close();
    for (const lost of readdirSync(DATA_DIR).filter((name) => name.startsWith('vault.db')))
      rmSync(join(DATA_DIR, lost));
    expect(JSON.parse(await vault('restore', file, '--json'))).toEqual({ added: 2, kept: 0, destroyed: 2 });
    expect(await withKeys(masterKey, (keys) => keys.dataKey('usr_1'))).toEqual(before);
    await expect(withKeys(masterKey, (keys) => keys.dataKey('usr_2'))).rejects.toMatchObject({ code: 'user_erased' });
    expect(JSON.parse(await vault('status', '--json'))).toEqual({ keys: 4, destroyed: 2, unreadable: 0 });
  });

  it('encrypts all of it with another master key', async () => {
    await annals(keysCommand, ['rotate']);
    const before = await withKeys(loadMasterKey(settings), (keys) => keys.dataKey('usr_9'));
    const MASTER_KEY = randomBytes(32).toString('base64');
    const rewrap = () =>
      annals(vaultCommand, ['rewrap', '--from', join(DATA_DIR, 'master.key'), '--json'], { MASTER_KEY });
    expect(JSON.parse(await rewrap())).toEqual({ keys: 6 });
    expect(JSON.parse(await rewrap())).toEqual({ keys: 0 });
    await expect(vault('status')).rejects.toThrow('MASTER_KEY does not open 6 keys');
    expect(await withKeys(Buffer.from(MASTER_KEY, 'base64'), (keys) => keys.dataKey('usr_9'))).toEqual(before);
    expect(await annals(keysCommand, ['rotate'], { MASTER_KEY })).toContain('is published until');
  });
});

describe('annals audit', () => {
  it('exports the history of nobody as a signature over nothing, and verifies it', async () => {
    writeFileSync(join(DATA_DIR, 'master.key'), randomBytes(32).toString('base64'));
    for (const old of readdirSync(DATA_DIR).filter((name) => name.startsWith('vault.db'))) rmSync(join(DATA_DIR, old));
    const file = join(DATA_DIR, 'history.ndjson');
    writeFileSync(file, await annals(auditCommand, ['export', 'usr_none']));
    expect(readFileSync(file, 'utf8')).toMatch(/^\{"previous":"0{64}","signature":"[\w.-]+"\}\n$/);
    expect(await annals(auditCommand, ['verify', file])).toContain('0 items are whole and in order');
    writeFileSync(file, '{"previous":"1","signature":"x"}\n');
    expect(JSON.parse(await annals(auditCommand, ['verify', file, '--json']))).toEqual({
      proven: false,
      reason: 'lines are missing before the signature',
    });
    process.exitCode = 0;
  });
});
