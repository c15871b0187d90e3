import { describe, expect, it } from '@jest/globals';
import { Refusal } from '../errors/refusal.ts';
import { Transactor } from '../event-store/transactions/transact.ts';
import { evidenceOfKeys } from '../key-vault/vault-evidence.ts';
import { personalDataOf } from '../key-vault/personal-data.ts';
import { MemoryKeyVault } from '../testing/engines/key-vault.memory.ts';
import { makeVault } from '../key-vault/own-vault.ts';
import { testFoundation, type TestFoundation } from '../testing/test-foundation.ts';
import { leafHash } from './merkle-tree.ts';
import { parseNote } from './signed-note.ts';
import { StoredLog } from './stored-log.ts';
import { TreeEdge } from './tiles.ts';
import { Checkpoints } from './checkpoints.ts';
import { openLogKey } from './log-key.ts';
import { StoredCosignatures } from './witnesses/stored-cosignatures.ts';

const keyOf = (foundation: TestFoundation) => {
  const { eventStore, clock, ids } = foundation;
  return openLogKey(new Transactor(eventStore, clock, ids), personalDataOf(foundation).keys);
};

describe('the key of the log', () => {
  it('is one for ever, also where processes start at once', async () => {
    const foundation = await testFoundation();
    const keys = await Promise.all([keyOf(foundation), keyOf(foundation), keyOf(foundation)]);
    expect(new Set([...keys, await keyOf(foundation)].map((key) => key.toString('hex'))).size).toBe(1);
    expect((await foundation.eventStore.read('log')).map(({ type }) => type)).toEqual(['LogKeyMade']);
  });

  it('is refused where the vault has lost its key, or has another one', async () => {
    const foundation = await testFoundation();
    await keyOf(foundation);
    const other = { ...foundation, keyVault: new MemoryKeyVault() };
    await makeVault(other);
    await expect(keyOf(other)).rejects.toMatchObject({ code: 'dependency_unavailable' });
    await personalDataOf(other).keys.makeLogKey();
    await expect(keyOf(other)).rejects.toThrow('the key vault has another key of the log than signed before');
    const fits = async ({ keyVault }: TestFoundation) => {
      const [evidence] = await evidenceOfKeys(foundation.eventStore, new Set());
      const key = await personalDataOf({ ...foundation, keyVault }).keys.logKey();
      return [evidence?.id, evidence?.fits(key)];
    };
    expect([await fits(foundation), await fits(other)]).toEqual([
      ['log', true],
      ['log', false],
    ]);
    await foundation.keyVault.destroy('log', new Date().toISOString());
    await expect(keyOf(foundation)).rejects.toMatchObject({ code: 'dependency_unavailable' });
  });
});

describe('checkpoints', () => {
  const SEED = Buffer.alloc(32, 4);
  const opened = async (url = 'https://account.example') => {
    const { readStore } = await testFoundation();
    const log = new StoredLog(readStore);
    const checkpoints = new Checkpoints({ log, openKey: () => Promise.resolve(SEED), ownUrl: () => url });
    /** Stores a tree of these entries, as if it had been there before. */
    const hold = async (entries: readonly string[], position: number) => {
      const edge = TreeEdge.empty();
      const tiles = edge.append(entries.map((entry) => leafHash(entry)));
      await log.store(tiles, { size: edge.size, root: edge.root(), position });
    };
    const size = async () => Number(parseNote(await checkpoints.note()).text.split('\n')[1]);
    return { checkpoints, hold, size };
  };

  it.each([
    ['http://127.0.0.1:3000', '127.0.0.1:3000/log'],
    ['https://account.example', 'account.example/log'],
    ['https://example.org/account/', 'example.org/log'],
  ])('of %s are of the log %s', async (url, name) => {
    const { checkpoints } = await opened(url);
    expect((await checkpoints.signer()).key.name).toBe(name);
    expect(parseNote(await checkpoints.note()).text.split('\n')[0]).toBe(name);
  });

  it('continue each other, and stay the newest while the log is made anew', async () => {
    const { hold, size } = await opened();
    expect(await size()).toBe(0);
    for (const [at, entries] of [['a'], ['a', 'b'], ['a', 'b', 'c', 'd']].entries()) {
      await hold(entries, at + 1);
      expect(await size()).toBe(entries.length);
    }
    await hold(['a', 'b'], 9);
    expect(await size()).toBe(4);
    await hold(['a', 'b', 'c', 'd', 'e'], 10);
    expect(await size()).toBe(5);
  });

  it.each([
    ['another tree', ['x', 'b', 'c']],
    ['a longer tree that does not continue the last', ['a', 'x', 'c', 'd', 'e']],
  ])('are not signed of %s', async (_, entries) => {
    const { hold, size } = await opened();
    await hold(['a', 'b', 'c'], 1);
    expect(await size()).toBe(3);
    await hold(entries, 2);
    await expect(size()).rejects.toMatchObject({ code: 'dependency_unavailable' });
  });

  it('are those of one tree, also where many ask while the tree grows', async () => {
    const { hold, checkpoints } = await opened();
    await hold(['a'], 1);
    const asked = [checkpoints.note(), checkpoints.note()];
    await hold(['a', 'b'], 2);
    const notes = await Promise.all([...asked, checkpoints.note()]);
    expect(new Set(notes.slice(0, 2)).size).toBe(1);
    await hold(['x', 'b', 'c'], 3);
    const refused = await Promise.allSettled([checkpoints.note(), checkpoints.note()]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('are served with the signature of the log alone where witnesses were shown none, an older or another tree', async () => {
    const { readStore } = await testFoundation();
    const log = new StoredLog(readStore);
    const cosignatures = new StoredCosignatures(readStore, []);
    const checkpoints = new Checkpoints({
      ...{ log, cosignatures, openKey: () => Promise.resolve(SEED), ownUrl: () => 'https://account.example' },
    });
    const edge = TreeEdge.empty();
    await log.store(edge.append([leafHash('a')]), { size: 1, root: edge.root(), position: 1 });
    const older = { size: 1, root: edge.root(), position: 1 };
    await log.store(edge.append([leafHash('b')]), { size: 2, root: edge.root(), position: 2 });
    const { note } = await checkpoints.signed();
    expect(await checkpoints.note()).toBe(note);
    await cosignatures.markShown(older);
    expect(await checkpoints.note()).toBe(note);
    for (const [at, size] of [2, 3].entries()) {
      await cosignatures.markShown({ size, root: leafHash('another'), position: 2 + at });
      expect(await checkpoints.note()).toBe(note);
    }
    await log.store(edge.append([leafHash('c')]), { size: 3, root: edge.root(), position: 4 });
    expect(parseNote(await checkpoints.note()).text).toMatch(/^account\.example\/log\n3\n/);
  });

  it('are signed again once the vault has the key again', async () => {
    let hasKey = false;
    const { readStore } = await testFoundation();
    const checkpoints = new Checkpoints({
      log: new StoredLog(readStore),
      openKey: () => (hasKey ? Promise.resolve(SEED) : Promise.reject(new Refusal('dependency_unavailable', 'no key'))),
      ownUrl: () => 'https://account.example',
    });
    await expect(checkpoints.note()).rejects.toMatchObject({ code: 'dependency_unavailable' });
    hasKey = true;
    expect(await checkpoints.note()).toMatch(/^account\.example\/log\n0\n/);
  });
});
