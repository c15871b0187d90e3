import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { openSigningKeys } from './signing-keys.file.ts';

const folder = temporaryFolder();
const masterKey = Buffer.alloc(32, 1);

describe('the keys that sign tokens', () => {
  it('are created once, and are the same after a restart', () => {
    const made = openSigningKeys(join(folder, 'a'), masterKey);
    const again = openSigningKeys(join(folder, 'a'), masterKey);
    expect(again.published).toEqual(made.published);
    expect(again.current.kid).toBe(made.current.kid);
    expect(made.byId(made.current.kid)?.privateKey.equals(made.current.privateKey)).toBe(true);
    expect(made.byId('other')).toBeUndefined();
  });

  it('are created although a killed process has left a temporary file', () => {
    mkdirSync(join(folder, 'left-over'));
    writeFileSync(join(folder, 'left-over', 'token-signing-0001.key.3f1c'), 'cut of');
    expect(openSigningKeys(join(folder, 'left-over'), masterKey).published.keys).toHaveLength(1);
  });

  it('are published without their private part', () => {
    const { published } = openSigningKeys(join(folder, 'a'), masterKey);
    expect(published.keys).toHaveLength(1);
    expect(Object.keys(published.keys[0] ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });

  it('are stored encrypted, in files that only their owner can read', () => {
    openSigningKeys(join(folder, 'b'), masterKey);
    const files = readdirSync(join(folder, 'b'));
    expect(files).toEqual(['token-signing-0001.key']);
    const file = join(folder, 'b', files[0] ?? '');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toContain('PRIVATE KEY');
    expect(() => openSigningKeys(join(folder, 'b'), Buffer.alloc(32, 2))).toThrow(
      'cannot be opened with this MASTER_KEY',
    );
  });
});
