import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { loadMasterKey } from './master-key.ts';

const folder = temporaryFolder();

describe('the master key', () => {
  it('is created once, in a file that only its owner can read', () => {
    const DATA_DIR = join(folder, 'made');
    const key = loadMasterKey({ DATA_DIR, MASTER_KEY: undefined });
    expect(key).toHaveLength(32);
    expect(loadMasterKey({ DATA_DIR, MASTER_KEY: undefined })).toEqual(key);
    expect(statSync(join(DATA_DIR, 'master.key')).mode & 0o777).toBe(0o600);
  });

  it('is created although a killed process has left a temporary file', () => {
    const DATA_DIR = join(folder, 'left-over');
    mkdirSync(DATA_DIR);
    writeFileSync(join(DATA_DIR, `master.key.${String(process.pid)}`), 'cut of');
    expect(loadMasterKey({ DATA_DIR, MASTER_KEY: undefined })).toHaveLength(32);
  });

  it('is taken from the setting if that is given', () => {
    const given = Buffer.alloc(32, 1);
    expect(loadMasterKey({ DATA_DIR: '/nowhere', MASTER_KEY: given.toString('base64') })).toEqual(given);
  });

  it('is never replaced when its file is damaged', () => {
    writeFileSync(join(folder, 'master.key'), 'cut of');
    expect(() => loadMasterKey({ DATA_DIR: folder, MASTER_KEY: undefined })).toThrow('MASTER_KEY');
  });
});
