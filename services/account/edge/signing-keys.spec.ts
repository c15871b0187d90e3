import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { deriveKey } from '../../../shared/keys/derive-key.ts';
import { sealText } from '../../../shared/keys/sealed-text.ts';
import { TestClock, testFoundation } from '../../../shared/testing/test-foundation.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { rotateSigningKeys, signingKeyStore } from '../key-administration.ts';
import { SigningKeys } from './signing-keys.ts';

const folder = temporaryFolder();
const masterKey = Buffer.alloc(32, 1);
const MINUTE = 60_000;
const DAY = 86_400_000;

const foundationOf = async (name: string) => {
  const clock = new TestClock();
  const foundation = await testFoundation({ clock, environment: { DATA_DIR: join(folder, name) } });
  const store = () => signingKeyStore(foundation.settings, masterKey, clock);
  return {
    ...foundation,
    clock,
    store,
    files: join(folder, name, 'keys'),
    open: () => SigningKeys.open(store(), foundation),
  };
};
const kidsOf = async (keys: SigningKeys) => (await keys.published()).keys.map(({ kid }) => kid);

describe('the keys that sign tokens', () => {
  it('are created once, and are the same after a restart', async () => {
    const { open } = await foundationOf('a');
    const [made, again] = [await open(), await open()];
    expect(await again.published()).toEqual(await made.published());
    const { kid, privateKey } = await made.current();
    expect((await again.current()).kid).toBe(kid);
    expect((await made.byId(kid))?.privateKey.equals(privateKey)).toBe(true);
    expect(await made.byId('other')).toBeUndefined();
  });

  it('are created although a killed process has left a temporary file', async () => {
    const { files, open } = await foundationOf('left-over');
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, 'token-signing-0001.key.3f1c'), 'cut of');
    expect(await kidsOf(await open())).toHaveLength(1);
  });

  it('are published without their private part', async () => {
    const { keys } = await (await (await foundationOf('a')).open()).published();
    expect(keys).toHaveLength(1);
    expect(Object.keys(keys[0] ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });

  it('are stored encrypted, in files that only their owner can read', async () => {
    const { files, open, settings } = await foundationOf('b');
    await open();
    expect(readdirSync(files)).toEqual(['token-signing-0001.key']);
    const file = join(files, 'token-signing-0001.key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain('PRIVATE KEY');
    await expect(signingKeyStore(settings, Buffer.alloc(32, 2)).load()).rejects.toThrow(
      'cannot be opened with this MASTER_KEY',
    );
  });

  it('are read in the form of the first version', async () => {
    const { files, open, store, clock } = await foundationOf('first-version');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const sealed = sealText(
      deriveKey(masterKey, 'token signing keys'),
      'token-signing-0001.key',
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
    );
    mkdirSync(files, { recursive: true });
    writeFileSync(join(files, 'token-signing-0001.key'), sealed);
    const keys = await open();
    expect((await keys.current()).privateKey.equals(privateKey)).toBe(true);
    const { kid } = await rotateSigningKeys(store(), clock);
    clock.time += 2 * MINUTE;
    expect((await keys.current()).kid).toBe(kid);
  });

  it('are rotated in every process: a new one is published within a second, and signs after two minutes', async () => {
    const { clock, store, open } = await foundationOf('rotated');
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
    const { clock, store, open, files } = await foundationOf('forgotten');
    const keys = await open();
    const { kid: old } = await keys.current();
    const { kid } = await rotateSigningKeys(store(), clock);
    clock.time += 2 * MINUTE + 7 * DAY + 60 * MINUTE;
    expect(await kidsOf(keys)).toEqual([kid]);
    expect(await keys.byId(old)).toBeUndefined();
    expect(readdirSync(files)).toHaveLength(2);
    await rotateSigningKeys(store(), clock);
    expect(readdirSync(files).sort()).toEqual(['token-signing-0002.key', 'token-signing-0003.key']);
  });

  it('stay as they were while they cannot be read, which is logged', async () => {
    const { clock, store, open, files, logged } = await foundationOf('unreadable');
    const keys = await open();
    const { kid } = await keys.current();
    renameSync(files, `${files}-away`);
    clock.time += 5_000;
    expect((await keys.current()).kid).toBe(kid);
    expect(logged).toContainEqual(expect.objectContaining({ msg: 'the signing keys cannot be read again' }));
    renameSync(`${files}-away`, files);
    await rotateSigningKeys(store(), clock);
    clock.time += 5_000;
    expect(await kidsOf(keys)).toHaveLength(2);
    for (const file of readdirSync(files)) rmSync(join(files, file));
    clock.time += 5_000;
    expect(await kidsOf(keys)).toHaveLength(2);
    expect(readdirSync(files)).toEqual([]);
  });
});
