import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { folderWithStores } from '../../../shared/testing/engines/folder-with-stores.ts';
import { temporaryFolder } from '../../../shared/testing/temporary-folder.ts';
import { withEngines } from './with-engines.ts';

const folder = temporaryFolder();

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a command of an operator', () => {
  it('refuses a folder without stores, and makes none', async () => {
    const DATA_DIR = join(folder, 'misspelt');
    jest.replaceProperty(process, 'env', { DATA_DIR });
    const asked = withEngines({ names: ['eventStore'], keepsFiles: true }, () => undefined);
    await expect(asked).rejects.toThrow(`${DATA_DIR} has no stores: set DATA_DIR to the folder of the installation`);
    expect(existsSync(DATA_DIR)).toBe(false);
  });

  it('says where it stored what it changed', async () => {
    const DATA_DIR = await folderWithStores(join(folder, 'installed'));
    jest.replaceProperty(process, 'env', { DATA_DIR });
    const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const names = ['eventStore', 'readStore'] as const;
    expect(await withEngines({ names, keepsFiles: false }, () => 'read')).toBe('read');
    expect(said).not.toHaveBeenCalled();
    await withEngines({ names, keepsFiles: false, changes: true }, () => undefined);
    expect(said).toHaveBeenCalledWith(`stored in ${DATA_DIR}\n`);
  });
});
