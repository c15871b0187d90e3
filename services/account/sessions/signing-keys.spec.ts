import { createPrivateKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { KeyVault } from '../../../shared/key-vault/key-vault.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { removeSigningKey, rotateSigningKeys, signingKeyStore } from '../key-administration.ts';
import { SigningKeys } from './signing-keys.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

const foundationOf = async () => {
  const clock = new TestClock();
  const foundation = await testFoundation({ clock });
  const store = () => signingKeyStore(foundation);
  return { ...foundation, clock, store, open: () => SigningKeys.open(store(), foundation) };
};
const signingKeysIn = (vault: KeyVault) => vault.list('token-signing', 10);
const kidsOf = async (keys: SigningKeys) => (await keys.published()).keys.map(({ kid }) => kid);

describe('the keys that sign tokens', () => {
  it('are created once, and are the same after a restart', async () => {
    const { open } = await foundationOf();
    const [made, again] = [await open(), await open()];
    expect(await again.published()).toEqual(await made.published());
    const { kid, privateKey } = await made.current();
    expect((await again.current()).kid).toBe(kid);
    expect((await made.byId(kid))?.privateKey.equals(privateKey)).toBe(true);
    expect(await made.byId('other')).toBeUndefined();
  });

  it('are published without their private part', async () => {
    const { keys } = await (await (await foundationOf()).open()).published();
    expect(keys).toHaveLength(1);
    expect(Object.keys(keys[0] ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });

  it('are stored encrypted', async () => {
    const foundation = await foundationOf();
    const { keyVault } = foundation;
    await foundation.open();
    const [stored, ...others] = await signingKeysIn(keyVault);
    expect(others).toEqual([]);
    expect(stored?.id).toBe('token-signing-0001');
    expect(() =>
      createPrivateKey({ key: stored?.sealed ?? '', encoding: 'base64', format: 'der', type: 'pkcs8' }),
    ).toThrow();
    const other = signingKeyStore({ ...foundation, masterKey: Buffer.alloc(32, 2) });
    await expect(other.load()).rejects.toThrow('the key token-signing-0001 of the key vault cannot be opened');
  });

  it('are rotated in every process: a new one is published within a second, and signs after two minutes', async () => {
    const { clock, store, open } = await foundationOf();
    const processes = [await open(), await open()];
    const { kid: old } = await (await open()).current();
    const rotated = await rotateSigningKeys(store(), clock);
    expect(rotated).toEqual({
      kid: expect.not.stringMatching(old),
      signsFrom: new Date(clock.time + 2 * MINUTE).toISOString(),
      others: [{ kid: old, publishedUntil: new Date(clock.time + 2 * MINUTE + 7 * DAY + 60 * MINUTE).toISOString() }],
    });
    clock.time += 1_000;
    for (const keys of processes) expect(await kidsOf(keys)).toEqual([old, rotated.kid]);
    clock.time += 2 * MINUTE - 1_001;
    for (const keys of processes) expect((await keys.current()).kid).toBe(old);
    clock.time += 1;
    for (const keys of processes) expect((await keys.current()).kid).toBe(rotated.kid);
  });

  it('are not accepted any more once their last token has expired, and the next rotation forgets them', async () => {
    const { clock, store, open, keyVault } = await foundationOf();
    const keys = await open();
    const { kid: old } = await keys.current();
    const { kid } = await rotateSigningKeys(store(), clock);
    clock.time += 2 * MINUTE + 7 * DAY + 60 * MINUTE;
    expect(await kidsOf(keys)).toEqual([kid]);
    expect(await keys.byId(old)).toBeUndefined();
    const live = async () => (await signingKeysIn(keyVault)).flatMap(({ id, sealed }) => (sealed === null ? [] : [id]));
    expect(await live()).toHaveLength(2);
    await rotateSigningKeys(store(), clock);
    expect(await live()).toEqual(['token-signing-0002', 'token-signing-0003']);
  });

  it('are not accepted any more once they were removed, and never again, not by a backup either', async () => {
    const { clock, store, open, keyVault } = await foundationOf();
    const keys = await open();
    const { kid: leaked } = await keys.current();
    const [backup] = await signingKeysIn(keyVault);
    await rotateSigningKeys(store(), clock);
    await expect(removeSigningKey(store(), leaked, clock)).rejects.toThrow('signs now');
    clock.time += 2 * MINUTE;
    await removeSigningKey(store(), leaked, clock);
    clock.time += 1_000;
    expect(await keys.byId(leaked)).toBeUndefined();
    const check = (await keyVault.identity())?.check;
    await keyVault.add(
      [{ id: backup?.id ?? '', sealed: backup?.sealed ?? '', createdAt: backup?.createdAt ?? '' }],
      check,
    );
    expect((await store().load()).map(({ kid }) => kid)).not.toContain(leaked);
  });

  it('stay as they were while they cannot be read, which is logged, and while the vault has lost them', async () => {
    const { clock, store, open, keyVault, logged } = await foundationOf();
    const keys = await open();
    const { kid } = await keys.current();
    const list = keyVault.list.bind(keyVault);
    keyVault.list = () => Promise.reject(new Error('gone'));
    clock.time += 5_000;
    expect((await keys.current()).kid).toBe(kid);
    expect(logged).toContainEqual(expect.objectContaining({ msg: 'the signing keys cannot be read again' }));
    keyVault.list = list;
    await rotateSigningKeys(store(), clock);
    clock.time += 5_000;
    expect(await kidsOf(keys)).toHaveLength(2);
    keyVault.list = () => Promise.resolve([]);
    clock.time += 5_000;
    expect(await kidsOf(keys)).toHaveLength(2);
    keyVault.list = list;
    expect(await signingKeysIn(keyVault)).toHaveLength(2);
  });
});
