import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { SqliteEventStore } from '../../../shared/event-store/embedded/event-store.sqlite.ts';
import { readEvery } from '../../../shared/event-store/read-every.ts';
import { SqliteKeyVault } from '../../../shared/key-vault/embedded/key-vault.sqlite.ts';
import { requireOwnVault } from '../../../shared/key-vault/own-vault.ts';
import { sealedIn } from '../../../shared/key-vault/sealed-before.ts';
import { VaultKeys } from '../../../shared/key-vault/vault-keys.ts';
import { systemClock } from '../../../shared/primitives/clock.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { backupFolders, readManifest, type Backup } from './backup-manifest.ts';
import { createBackup } from './create-backup.ts';
import { restoreBackup } from './restore-backup.ts';
import { verifyBackups } from './verify-backups.ts';

const masterKey = randomBytes(32);
const quiet = () => undefined;
const root = temporaryFolder();
let folders = 0;
const newFolder = () => join(root, String((folders += 1)));

interface Stores {
  eventStore: SqliteEventStore;
  keyVault: SqliteKeyVault;
}
const openIn = (folder: string): Stores => ({
  eventStore: new SqliteEventStore(join(folder, 'events.db')),
  keyVault: new SqliteKeyVault(join(folder, 'vault.db')),
});
const close = ({ eventStore, keyVault }: Stores) => Promise.all([eventStore.close(), keyVault.close()]);
const ownOf = (stores: Stores) => ({
  ...stores,
  masterKey,
  clock: systemClock,
  ids: systemIds,
  names: { vault: 'the vault', masterKey: 'the master key' },
});
const eventsOf = async (eventStore: SqliteEventStore): Promise<string[]> => {
  const events: string[] = [];
  for await (const { position, stream, dataText } of readEvery(eventStore))
    events.push(`${String(position)} ${stream} ${dataText}`);
  return events;
};

describe('a backup of the embedded stores', () => {
  let dataDir: string;
  let backups: string;
  let stores: Stores;
  let keys: VaultKeys;
  beforeEach(async () => {
    dataDir = newFolder();
    backups = newFolder();
    mkdirSync(dataDir);
    stores = openIn(dataDir);
    await requireOwnVault(ownOf(stores), { makes: true });
    keys = new VaultKeys(stores.keyVault, masterKey, systemClock, sealedIn(stores.eventStore));
    await keys.dataKey('usr_1');
    await stores.eventStore.append('user-usr_1', -1, [anEvent({ data: { name: 'one' } })]);
  });
  afterEach(() => close(stores));

  const create = (progress: typeof quiet = quiet): Promise<Backup> =>
    createBackup({ ...stores, eventsFile: join(dataDir, 'events.db'), clock: systemClock }, backups, progress);
  const restore = (to = newFolder(), options: { reaches?: number; key?: Buffer; from?: string } = {}) =>
    restoreBackup(options.from ?? backups, {
      dataDir: to,
      masterKey: options.key ?? masterKey,
      masterKeyName: 'the master key',
      reaches: options.reaches,
      progress: quiet,
    });
  const readIn = async (folder: string) => {
    const restored = openIn(folder);
    const events = await eventsOf(restored.eventStore);
    await expect(requireOwnVault(ownOf(restored), { makes: false })).resolves.toBeUndefined();
    const found = await restored.keyVault.list('', 100);
    await close(restored);
    return { events, keys: found };
  };
  const append = (revision: number) =>
    stores.eventStore.append('orders', revision, [anEvent({ data: { revision, note: 'x'.repeat(500) } })]);

  it('has every event and key from before, and of those that come meanwhile the first ones', async () => {
    await stores.eventStore.append(
      'notes',
      -1,
      Array.from({ length: 3_000 }, () => anEvent({ data: { note: 'x'.repeat(500) } })),
    );
    const before = await eventsOf(stores.eventStore);
    const stop = new AbortController();
    const writing = (async () => {
      for (let revision = -1; !stop.signal.aborted; revision += 1) await append(revision);
    })();
    const { position, folder } = await create();
    stop.abort();
    await writing;
    const all = await eventsOf(stores.eventStore);
    expect(position).toBeGreaterThanOrEqual(before.length);
    expect(await verifyBackups(backups, quiet)).toMatchObject([{ folder, position, damage: [] }]);
    const to = newFolder();
    expect(await restore(to)).toMatchObject({ position, keys: 5 });
    expect(await readIn(to)).toEqual({
      events: all.slice(0, position),
      keys: await stores.keyVault.list('', 100),
    });
    expect(readdirSync(to).filter((name) => !name.includes('.lock'))).toEqual(['events.db', 'vault.db']);
  });

  it('goes beside the older ones under its name when it is complete, and what was interrupted is removed', async () => {
    mkdirSync(join(backups, '.incomplete-of-a-killed-process'), { recursive: true });
    const first = await create();
    await append(-1);
    const second = await create();
    expect(backupFolders(backups)).toEqual([first.folder, second.folder]);
    expect(readdirSync(backups).filter((name) => name.startsWith('.'))).toEqual([]);
    await expect(
      create(() => {
        throw new Error('the disk is full');
      }),
    ).rejects.toThrow('the disk is full');
    expect(backupFolders(backups)).toHaveLength(2);
    await create();
    expect(readdirSync(backups).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('is written by one process at a time', async () => {
    const [one, other] = await Promise.allSettled([create(), create()]);
    expect([one.status, other.status].toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(String(other.status === 'rejected' && other.reason)).toContain('in use by another process');
  });

  it('is damaged, and not restored, once one bit of any of its files differs', async () => {
    const { folder } = await create();
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const bytes = readFileSync(path);
      for (let times = 0; times < 20; times += 1) {
        const at = (bytes.length * times) / 20;
        const changed = Buffer.from(bytes);
        changed[Math.floor(at)] = (changed[Math.floor(at)] ?? 0) ^ (1 << (times % 8));
        writeFileSync(path, changed);
        const [verified] = await verifyBackups(backups, quiet);
        expect(verified?.damage).toEqual([`${path} is not as it was written`]);
        const to = newFolder();
        await expect(restore(to)).rejects.toThrow(`${path} is not as it was written`);
        expect(existsSync(to) && readdirSync(to).includes('events.db')).toBe(false);
      }
      writeFileSync(path, bytes);
    }
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name));
      rmSync(join(folder, name));
      const [verified] = await verifyBackups(folder, quiet);
      expect(verified?.damage).toEqual([`${join(folder, name)} is missing`]);
      writeFileSync(join(folder, name), bytes);
    }
    writeFileSync(join(folder, 'note.txt'), 'hello');
    expect((await verifyBackups(folder, quiet))[0]?.damage).toEqual([
      `${join(folder, 'note.txt')} is no file of the backup`,
    ]);
    await expect(verifyBackups(newFolder(), quiet)).rejects.toThrow('has no backup');
  });

  it('is restored up to the first that reaches a position', async () => {
    const first = await create();
    await append(-1);
    const second = await create();
    await append(0);
    const third = await create();
    expect(await restore()).toMatchObject({ folder: third.folder });
    expect(await restore(undefined, { reaches: first.position })).toMatchObject({ folder: first.folder });
    expect(await restore(undefined, { reaches: first.position + 1 })).toMatchObject({ folder: second.folder });
    await expect(restore(undefined, { reaches: third.position + 1 })).rejects.toThrow(
      `the newest ends at ${String(third.position)}`,
    );
  });

  it('brings back no key that was destroyed, also where it is older', async () => {
    const { folder, vault } = await create();
    const sealed = (await stores.keyVault.get(['data-usr_1'])).get('data-usr_1')?.sealed ?? '';
    expect(readFileSync(join(folder, vault.name), 'utf8')).toContain(sealed);
    await stores.eventStore.append('user-usr_1', 0, [
      anEvent({ type: 'UserErased', data: { ...eventExamples.UserErased, userId: 'usr_1' } }),
    ]);
    await stores.keyVault.destroy('data-usr_1', '2026-01-02T03:04:05.678Z');
    await create();
    expect(readdirSync(folder).toSorted()).toEqual(['events.db', 'manifest.json', 'vault.1.ndjson']);
    for (const one of backupFolders(backups))
      for (const name of readdirSync(one)) expect(readFileSync(join(one, name), 'latin1')).not.toContain(sealed);
    expect((await verifyBackups(backups, quiet)).flatMap(({ damage }) => damage)).toEqual([]);
    const to = newFolder();
    await restore(to, { from: folder });
    const { keys: found } = await readIn(to);
    expect(found.find(({ id }) => id === 'data-usr_1')).toMatchObject({ sealed: null });
    expect(found.find(({ id }) => id === 'identities')?.sealed).toBeTruthy();
    await create();
    expect(readManifest(folder).vault.name).toBe('vault.1.ndjson');
  });

  it('leaves an older one that is damaged as it is, and says so when it is complete', async () => {
    const { folder, vault } = await create();
    writeFileSync(join(folder, vault.name), 'damaged');
    await stores.eventStore.append('user-usr_1', 0, [
      anEvent({ type: 'UserErased', data: { ...eventExamples.UserErased, userId: 'usr_1' } }),
    ]);
    await expect(create()).rejects.toThrow(`the new backup is complete. ${folder} cannot be read`);
    expect(readFileSync(join(folder, vault.name), 'utf8')).toBe('damaged');
    expect(backupFolders(backups)).toHaveLength(2);
  });

  it('is not restored with another master key, or into a folder that has files', async () => {
    await create();
    const to = newFolder();
    await expect(restore(to, { key: randomBytes(32) })).rejects.toThrow('the master key does not open the key');
    await restore(to);
    await expect(restore(to)).rejects.toThrow('is not empty (events.db, vault.db)');
  });

  it('is restored again where that was interrupted', async () => {
    await create();
    for (const left of [
      ['events.db.restoring'],
      ['events.db.restoring', 'vault.db'],
      ['events.db.restoring', 'vault.db.restoring-wal'],
    ]) {
      const to = newFolder();
      mkdirSync(to);
      for (const name of left) writeFileSync(join(to, name), 'a part');
      writeFileSync(join(to, 'master.key'), 'kept');
      await restore(to);
      expect((await readIn(to)).events).toEqual(await eventsOf(stores.eventStore));
      expect(readFileSync(join(to, 'master.key'), 'utf8')).toBe('kept');
    }
    const vaultAlone = newFolder();
    mkdirSync(vaultAlone);
    writeFileSync(join(vaultAlone, 'vault.db'), 'of another');
    await expect(restore(vaultAlone)).rejects.toThrow('is not empty (vault.db)');
  });

  it('is not made of events that cannot be read', async () => {
    for (let revision = -1; revision < 100; revision += 1) await append(revision);
    await stores.eventStore.close();
    const path = join(dataDir, 'events.db');
    const bytes = readFileSync(path);
    const at = bytes.lastIndexOf('xxxxx');
    bytes[at] = 'y'.charCodeAt(0);
    writeFileSync(path, bytes);
    await expect(create()).rejects.toThrow(`${path} cannot be copied, because not all of its events can be read`);
    expect(backupFolders(backups)).toEqual([]);
    stores.eventStore = new SqliteEventStore(join(newFolder(), 'events.db'));
  });
});
