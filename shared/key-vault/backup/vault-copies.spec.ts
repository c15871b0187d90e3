import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryEventStore } from '../../testing/engines/event-store.memory.ts';
import { systemClock } from '../../primitives/clock.ts';
import { systemIds } from '../../primitives/ids.ts';
import { anEvent } from '../../testing/event-builder.ts';
import { MemoryKeyVault } from '../../testing/engines/key-vault.memory.ts';
import { recordDestroyedKey, requireOwnVault } from '../own-vault.ts';
import { restoreVault } from './restore-vault.ts';
import { rewrapVault, vaultStatus } from './rewrap-vault.ts';
import { sealedIn } from '../sealed-before.ts';
import { backupVault } from './vault-backup.ts';
import { VaultKeys } from '../vault-keys.ts';

const masterKey = Buffer.alloc(32, 1);
const otherKey = Buffer.alloc(32, 2);
const AT = '2026-01-02T03:04:05.678Z';
const names = { vault: 'the vault', masterKey: 'MASTER_KEY' };
/** Number of keys that a vault has from the beginning. */
const FIRST = 3;

async function* linesOf(whole: string): AsyncGenerator<string> {
  for (const line of whole.split('\n')) yield Promise.resolve(line);
}

describe('the key vault', () => {
  let eventStore: MemoryEventStore;
  let vault: MemoryKeyVault;
  let keys: VaultKeys;
  beforeEach(async () => {
    eventStore = new MemoryEventStore();
    vault = new MemoryKeyVault();
    await requireOwnVault(own(vault), { makes: true });
    keys = keysOf(vault);
    for (const userId of ['usr_1', 'usr_2', 'usr_3']) await keys.dataKey(userId);
    await keys.destroyKeysOf('usr_3');
  });
  const own = (keyVault: MemoryKeyVault, key: Uint8Array = masterKey) => ({
    ...{ eventStore, keyVault, masterKey: key, names },
    ...{ clock: systemClock, ids: systemIds },
  });
  const keysOf = (keyVault: MemoryKeyVault, key = masterKey) =>
    new VaultKeys(keyVault, key, systemClock, sealedIn(eventStore));
  const restore = (into: MemoryKeyVault, backup: string, { key = masterKey, replaces = false } = {}) =>
    restoreVault(own(into, key), () => linesOf(backup), { replaces, at: AT });
  const start = (keyVault: MemoryKeyVault, key = masterKey) => requireOwnVault(own(keyVault, key), { makes: true });
  const everything = (keyVault: MemoryKeyVault) => keyVault.list('', 100);

  it('says how many keys it has, and which the master key does not open', async () => {
    const all = { keys: 6 + FIRST, destroyed: 2 };
    expect(await vaultStatus(vault, masterKey)).toEqual({ ...all, unreadable: 0, unreadableIds: [] });
    expect(await vaultStatus(vault, otherKey)).toMatchObject({ ...all, unreadable: 4 + FIRST });
    await damage('data-usr_2');
    expect(await vaultStatus(vault, masterKey)).toEqual({ ...all, unreadable: 1, unreadableIds: ['data-usr_2'] });
  });

  const damage = async (id: string) => {
    const sealed = (await vault.get([id])).get(id)?.sealed ?? '';
    await vault.reseal(id, sealed, `${sealed.startsWith('A') ? 'B' : 'A'}${sealed.slice(1)}`);
  };

  it('is restored from a backup, with every key and the identity as they were', async () => {
    const backup = await text(backupVault(vault, AT));
    const lost = new MemoryKeyVault();
    await expect(start(lost)).rejects.toThrow('is empty');
    expect(await restore(lost, backup)).toEqual({ added: 4 + FIRST, kept: 0, replaced: 0, destroyed: 2 });
    expect(await everything(lost)).toEqual(
      (await everything(vault)).map((key) =>
        key.sealed === null ? expect.objectContaining({ id: key.id, sealed: null }) : key,
      ),
    );
    await start(lost);
    await expect(keysOf(lost).dataKey('usr_3')).rejects.toMatchObject({ code: 'user_erased' });
    expect(await restore(lost, backup)).toEqual({ added: 0, kept: 4 + FIRST, replaced: 0, destroyed: 2 });
  });

  it('is not used while it is restored in part, and the same restore finishes it', async () => {
    const backup = await text(backupVault(vault, AT));
    const lost = new MemoryKeyVault();
    const identify = lost.identify.bind(lost);
    lost.identify = () => Promise.reject(new Error('planned crash'));
    await expect(restore(lost, backup)).rejects.toThrow('planned crash');
    await expect(start(lost)).rejects.toThrow('restored in part');
    lost.identify = identify;
    expect(await restore(lost, backup)).toMatchObject({ added: 0, kept: 4 + FIRST });
    await start(lost);
  });

  it('is restored from a backup from before vaults had an identity', async () => {
    const lines = (await text(backupVault(vault, AT))).split('\n');
    const former = [JSON.stringify({ annalsKeyVault: 1, at: AT }), ...lines.slice(1, -2), ''].join('\n');
    const lost = new MemoryKeyVault();
    expect(await restore(lost, former)).toMatchObject({ added: 4 + FIRST });
    await start(lost);
  });

  it('brings back no key that was destroyed since, in the vault or by what the event store says', async () => {
    const backup = await text(backupVault(vault, AT));
    await keys.destroyKeysOf('usr_1');
    expect(await restore(vault, backup)).toMatchObject({ added: 0, kept: 2 + FIRST, destroyed: 4 });
    await eventStore.append('user-usr_1', -1, [anEvent({ type: 'UserErased', data: { userId: 'usr_1' } })]);
    await recordDestroyedKey('token-signing-0001', own(vault));
    const lost = new MemoryKeyVault();
    expect(await restore(lost, backup)).toMatchObject({ added: 2 + FIRST - 1, kept: 0, destroyed: 5 });
    await expect(keysOf(lost).dataKey('usr_1')).rejects.toMatchObject({ code: 'user_erased' });
    expect((await lost.get(['token-signing-0001'])).get('token-signing-0001')?.sealed).toBeNull();
  });

  it('takes nothing of a backup that is not whole, or of another master key or vault', async () => {
    const backup = await text(backupVault(vault, AT));
    const lost = new MemoryKeyVault();
    await expect(restore(lost, backup, { key: otherKey })).rejects.toThrow('was made with another master key');
    await expect(restore(lost, backup.slice(0, -30))).rejects.toThrow('is not of a backup');
    await expect(restore(lost, backup.split('\n').slice(0, -2).join('\n'))).rejects.toThrow('its last line is missing');
    await expect(restore(lost, backup.split('\n').slice(0, -3).join('\n'))).rejects.toThrow('its last line is missing');
    await expect(restore(lost, backup.split('\n').slice(1).join('\n'))).rejects.toThrow('line 1 is not of a backup');
    await expect(restore(lost, '{"other":1}\n')).rejects.toThrow('line 1 is not of a backup');
    await expect(restore(lost, '')).rejects.toThrow('the backup is empty');
    await expect(restore(lost, backup.replace(/"vlt_\w+"/, '"vlt_other"'))).rejects.toThrow('of another key vault');
    expect(await vaultStatus(lost, masterKey)).toMatchObject({ keys: 0 });
  });

  it('names keys that differ, and takes those of the backup only if it is told to', async () => {
    const backup = await text(backupVault(vault, AT));
    const paymaster = async () => keysOf(vault).makeChainKeys(1, { paymaster: true, executors: [0] });
    await paymaster();
    const withChain = await text(backupVault(vault, AT));
    const before = await keysOf(vault).paymasterKey(1);

    const other = new MemoryKeyVault();
    await restore(other, backup);
    await keysOf(other).makeChainKeys(1, { paymaster: true, executors: [] });
    const made = await everything(other);
    await expect(restore(other, withChain)).rejects.toThrow(
      'the vault has other keys than the backup: paymaster-1; nothing was changed',
    );
    expect(await everything(other)).toEqual(made);
    expect(await restore(other, withChain, { replaces: true })).toMatchObject({ added: 1, replaced: 1 });
    expect(await keysOf(other).paymasterKey(1)).toEqual(before);
  });

  it('takes a damaged key from the backup', async () => {
    const backup = await text(backupVault(vault, AT));
    const before = await keysOf(vault).dataKey('usr_2');
    await damage('data-usr_2');
    await expect(keysOf(vault).dataKey('usr_2')).rejects.toMatchObject({
      code: 'dependency_unavailable',
      cause: { message: expect.stringContaining('the key data-usr_2') },
    });
    await expect(restore(vault, backup)).rejects.toThrow('data-usr_2');
    await restore(vault, backup, { replaces: true });
    expect(await keysOf(vault).dataKey('usr_2')).toEqual(before);
  });

  it('is encrypted anew with another master key, also after a crash in the middle', async () => {
    const before = await keys.dataKey('usr_2');
    const rewrap = (to: Uint8Array, from: Uint8Array = masterKey) => rewrapVault(vault, { from, to });
    await expect(rewrap(Buffer.alloc(32, 3), Buffer.alloc(32, 4))).rejects.toThrow('neither of the two');
    const reseal = vault.reseal.bind(vault);
    let resealed = 0;
    vault.reseal = (...args) => {
      resealed += 1;
      return resealed === 2 ? Promise.reject(new Error('planned crash')) : reseal(...args);
    };
    await expect(rewrap(otherKey)).rejects.toThrow('planned crash');
    for (const key of [masterKey, otherKey])
      await expect(start(vault, key)).rejects.toThrow(/is not the master key|was not finished/);
    vault.reseal = reseal;
    expect(await rewrap(otherKey)).toBe(3 + FIRST);
    expect(await rewrap(otherKey)).toBe(0);
    await expect(start(vault)).rejects.toThrow('MASTER_KEY is not the master key of the vault');
    await start(vault, otherKey);
    expect(await keysOf(vault, otherKey).dataKey('usr_2')).toEqual(before);
  });

  it('is left as it is where a key is damaged, which is named', async () => {
    await damage('data-usr_2');
    const before = await everything(vault);
    await expect(rewrapVault(vault, { from: masterKey, to: otherKey })).rejects.toThrow('the key data-usr_2');
    expect(await everything(vault)).toEqual(before);
    expect((await vault.identity())?.isRewrapping).toBe(false);
  });

  it('takes no key of a process that has the former master key', async () => {
    await rewrapVault(vault, { from: masterKey, to: otherKey });
    const before = await everything(vault);
    await expect(keys.dataKey('usr_4')).rejects.toMatchObject({ code: 'dependency_unavailable' });
    expect(await everything(vault)).toEqual(before);
  });
});
