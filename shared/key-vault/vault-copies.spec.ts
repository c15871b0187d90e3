import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryEventStore } from '../event-store/event-store.memory.ts';
import { systemClock } from '../primitives/clock.ts';
import { MemoryKeyVault } from './key-vault.memory.ts';
import { backupVault, restoreVault, rewrapVault, vaultStatus } from './vault-copies.ts';
import { sealedIn } from './sealed-before.ts';
import { VaultKeys } from './vault-keys.ts';

const masterKey = Buffer.alloc(32, 1);
const otherKey = Buffer.alloc(32, 2);
const AT = '2026-01-02T03:04:05.678Z';

async function* linesOf(whole: string): AsyncGenerator<string> {
  for (const line of whole.split('\n')) yield Promise.resolve(line);
}

describe('the key vault', () => {
  let vault: MemoryKeyVault;
  let keys: VaultKeys;
  beforeEach(async () => {
    vault = new MemoryKeyVault();
    keys = new VaultKeys(vault, masterKey, systemClock, sealedIn(new MemoryEventStore()));
    for (const userId of ['usr_1', 'usr_2', 'usr_3']) await keys.dataKey(userId);
    await keys.destroyKeysOf('usr_3');
  });
  const restore = (into: MemoryKeyVault, backup: string, erasedUsers: string[] = [], key = masterKey) =>
    restoreVault(into, linesOf(backup), { masterKey: key, erasedUsers, at: AT });
  const openedWith = async (from: MemoryKeyVault, key: Buffer, userId: string) =>
    new VaultKeys(from, key, systemClock, sealedIn(new MemoryEventStore())).dataKey(userId);

  it('says how many keys it has, and how many the master key does not open', async () => {
    expect(await vaultStatus(vault, masterKey)).toEqual({ keys: 6, destroyed: 2, unreadable: 0 });
    expect(await vaultStatus(vault, otherKey)).toEqual({ keys: 6, destroyed: 2, unreadable: 4 });
  });

  it('is restored from a backup, with every key as it was', async () => {
    const backup = await text(backupVault(vault, AT));
    const lost = new MemoryKeyVault();
    expect(await restore(lost, backup)).toEqual({ added: 4, kept: 0, destroyed: 2 });
    expect(await openedWith(lost, masterKey, 'usr_1')).toEqual(await keys.dataKey('usr_1'));
    await expect(openedWith(lost, masterKey, 'usr_3')).rejects.toMatchObject({ code: 'user_erased' });
    expect(await restore(lost, backup)).toEqual({ added: 0, kept: 4, destroyed: 2 });
  });

  it('brings back no key that was destroyed since, in the vault or by what the event store says', async () => {
    const backup = await text(backupVault(vault, AT));
    await keys.destroyKeysOf('usr_1');
    expect(await restore(vault, backup)).toEqual({ added: 0, kept: 2, destroyed: 4 });
    const lost = new MemoryKeyVault();
    expect(await restore(lost, backup, ['usr_1'])).toEqual({ added: 2, kept: 0, destroyed: 4 });
    await expect(openedWith(lost, masterKey, 'usr_1')).rejects.toMatchObject({ code: 'user_erased' });
  });

  it('takes nothing of a backup that is not whole, or of another master key', async () => {
    const backup = await text(backupVault(vault, AT));
    const lost = new MemoryKeyVault();
    await expect(restore(lost, backup, [], otherKey)).rejects.toThrow('another MASTER_KEY');
    await expect(restore(lost, backup.slice(0, -30))).rejects.toThrow('is not of a backup');
    await expect(restore(lost, backup.split('\n').slice(1).join('\n'))).rejects.toThrow('line 1 is not of a backup');
    await expect(restore(lost, '{"other":1}\n')).rejects.toThrow('line 1 is not of a backup');
    expect(await vaultStatus(lost, masterKey)).toEqual({ keys: 0, destroyed: 0, unreadable: 0 });
  });

  it('is encrypted anew with another master key, also after a crash in the middle', async () => {
    const before = await keys.dataKey('usr_2');
    const reseal = vault.reseal.bind(vault);
    let resealed = 0;
    vault.reseal = (...args) => {
      resealed += 1;
      return resealed === 2 ? Promise.reject(new Error('planned crash')) : reseal(...args);
    };
    await expect(rewrapVault(vault, masterKey, otherKey)).rejects.toThrow('planned crash');
    expect(await vaultStatus(vault, otherKey)).toEqual({ keys: 6, destroyed: 2, unreadable: 3 });
    vault.reseal = reseal;
    expect(await rewrapVault(vault, masterKey, otherKey)).toBe(3);
    expect(await openedWith(vault, otherKey, 'usr_2')).toEqual(before);
    expect(await vaultStatus(vault, masterKey)).toMatchObject({ unreadable: 4 });
    await expect(rewrapVault(vault, masterKey, Buffer.alloc(32, 3))).rejects.toThrow('neither of the two');
  });
});
