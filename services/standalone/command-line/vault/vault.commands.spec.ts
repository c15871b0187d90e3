import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { SqliteKeyVault } from '../../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { sealedIn } from '../../../../shared/key-vault/sealed-before.ts';
import { VaultKeys } from '../../../../shared/key-vault/vault-keys.ts';
import { SqliteEventStore } from '../../../../shared/event-store/embedded/event-store.sqlite.ts';
import { loadMasterKey } from '../../../../shared/keys/master-key.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { anEvent } from '../../../../shared/testing/event-builder.ts';
import { folderWithStores } from '../../../../shared/testing/engines/folder-with-stores.ts';
import { temporaryFolder } from '../../../../shared/testing/temporary-folder.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { shareFolder } from '../../../../shared/host/engines/folder-locks.sqlite.ts';
import { thisVault } from '../../../../shared/host/engines/this-vault.ts';
import { requireOwnVault } from '../../../../shared/key-vault/own-vault.ts';
import { wrappingKeyOf } from '../../../../shared/key-vault/sealed-keys.ts';
import { sealText } from '../../../../shared/keys/sealed-text.ts';
import { auditCommand } from '../audit/audit.commands.ts';
import { chainCommand } from '../chains/chain.commands.ts';
import { keysCommand } from '../keys.commands.ts';
import { sessionsCommand } from '../sessions.commands.ts';
import { vaultCommand } from './vault.commands.ts';

const DATA_DIR = await folderWithStores(temporaryFolder());
const CHAINS = JSON.stringify([{ chainId: 1, rpcUrls: ['http://127.0.0.1:1'] }]);
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
const loseVault = () => {
  for (const lost of readdirSync(DATA_DIR).filter((name) => name.startsWith('vault.db'))) rmSync(join(DATA_DIR, lost));
};
const withStores = async <Result>(work: (stores: Stores) => Promise<Result>): Promise<Result> => {
  const keyVault = new SqliteKeyVault(join(DATA_DIR, 'vault.db'));
  const eventStore = new SqliteEventStore(join(DATA_DIR, 'events.db'));
  try {
    return await work({ keyVault, eventStore });
  } finally {
    await Promise.all([keyVault.close(), eventStore.close()]);
  }
};
interface Stores {
  keyVault: SqliteKeyVault;
  eventStore: SqliteEventStore;
}
/** Does what the first start of the account service does. */
const start = () => {
  loadMasterKey(settings);
  return withStores((stores) => requireOwnVault(thisVault(stores, settings as Settings), { makes: true }));
};
const withKeys = <Result>(masterKey: Uint8Array, work: (keys: VaultKeys) => Promise<Result>): Promise<Result> =>
  withStores(({ keyVault, eventStore }) => work(new VaultKeys(keyVault, masterKey, systemClock, sealedIn(eventStore))));
const idsInVault = () => withStores(async ({ keyVault }) => (await keyVault.list('', 100)).map(({ id }) => id));

describe('annals vault', () => {
  it('backs up and restores keys, but none of a user whom the event store knows as erased', async () => {
    await start();
    const masterKey = loadMasterKey(settings);
    const before = await withKeys(masterKey, async (keys) => {
      await keys.dataKey('usr_2');
      return keys.dataKey('usr_1');
    });
    const file = join(DATA_DIR, 'backup.ndjson');
    expect(await vault('backup', file)).toContain('has 7 keys');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect(vault('backup', file)).rejects.toThrow('exists: name another file');
    await withStores(({ eventStore }) =>
      eventStore.append('user-usr_2', -1, [anEvent({ type: 'UserErased', data: { userId: 'usr_2' } })]),
    );
    loseVault();
    expect(JSON.parse(await vault('restore', file, '--json'))).toEqual({
      added: 5,
      kept: 0,
      replaced: 0,
      destroyed: 2,
    });
    expect(await withKeys(masterKey, (keys) => keys.dataKey('usr_1'))).toEqual(before);
    await expect(withKeys(masterKey, (keys) => keys.dataKey('usr_2'))).rejects.toMatchObject({ code: 'user_erased' });
    expect(JSON.parse(await vault('status', '--json'))).toMatchObject({ keys: 7, destroyed: 2, unreadable: 0 });
    await start();
  });

  it.each([
    ['keys rotate', () => annals(keysCommand, ['rotate'])],
    ['audit export', () => annals(auditCommand, ['export', 'usr_1'])],
    ['sessions end', () => annals(sessionsCommand, ['end', 'usr_1'])],
    ['chain status', () => annals(chainCommand, ['status', '--chain', '1'], { CHAINS })],
    ['chain prepare', () => annals(chainCommand, ['prepare', '--chain', '1'], { CHAINS })],
    ['vault status', () => vault('status')],
    ['vault backup', () => vault('backup', join(DATA_DIR, 'nothing.ndjson'))],
    ['npm start', () => start()],
  ])('is not made anew by "%s" after it was lost, and the restore has everything back', async (_, look) => {
    const file = join(DATA_DIR, `${randomUUID()}.ndjson`);
    await vault('backup', file);
    const before = await idsInVault();
    loseVault();
    await expect(look()).rejects.toThrow('is empty or restored in part');
    expect(await idsInVault()).toEqual([]);
    await vault('restore', file);
    expect(await idsInVault()).toEqual(before);
  });

  it('names keys that differ from the backup, and replaces them alone', async () => {
    const file = join(DATA_DIR, 'before.ndjson');
    await vault('backup', file);
    const masterKey = loadMasterKey(settings);
    await withStores(async ({ keyVault }) => {
      const stored = (await keyVault.get(['audit'])).get('audit')?.sealed ?? '';
      await keyVault.reseal('audit', stored, sealText(wrappingKeyOf(masterKey), 'audit', 'another'));
    });
    await expect(vault('restore', file)).rejects.toThrow('other keys than the backup: audit; nothing was changed');
    const free = shareFolder(DATA_DIR);
    await expect(vault('restore', file, '--replace')).rejects.toThrow('stop them before "vault restore --replace"');
    free();
    expect(JSON.parse(await vault('restore', file, '--replace', '--json'))).toMatchObject({ added: 0, replaced: 1 });
    await expect(vault('restore', join(DATA_DIR, 'none.ndjson'))).rejects.toThrow('none.ndjson');
  });

  it('encrypts all of it with another master key, alone', async () => {
    await annals(keysCommand, ['rotate']);
    const before = await withKeys(loadMasterKey(settings), (keys) => keys.dataKey('usr_9'));
    const MASTER_KEY = randomBytes(32).toString('base64');
    const rewrap = () =>
      annals(vaultCommand, ['rewrap', '--from', join(DATA_DIR, 'master.key'), '--json'], { MASTER_KEY });
    const free = shareFolder(DATA_DIR);
    await expect(rewrap()).rejects.toThrow('stop them before "vault rewrap"');
    free();
    expect(JSON.parse(await rewrap())).toEqual({ keys: 8 });
    expect(JSON.parse(await rewrap())).toEqual({ keys: 0 });
    await expect(vault('status')).rejects.toThrow('master.key does not open 8 keys');
    await expect(annals(keysCommand, ['rotate'])).rejects.toThrow(
      `${join(DATA_DIR, 'master.key')} is not the master key of ${join(DATA_DIR, 'vault.db')}`,
    );
    expect(await withKeys(Buffer.from(MASTER_KEY, 'base64'), (keys) => keys.dataKey('usr_9'))).toEqual(before);
    expect(await annals(keysCommand, ['rotate'], { MASTER_KEY })).toContain('is published until');
    rmSync(join(DATA_DIR, 'master.key'));
    await expect(vault('status')).rejects.toThrow('master.key is missing');
    writeFileSync(join(DATA_DIR, 'master.key'), MASTER_KEY);
  });
});
