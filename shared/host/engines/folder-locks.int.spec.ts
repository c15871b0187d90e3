import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { haveFolderAlone, lockForStart, shareFolder } from './folder-locks.sqlite.ts';

const parent = temporaryFolder();
const newFolder = () => mkdtempSync(join(parent, 'data-'));

describe('the locks of a data folder', () => {
  it('let any number of processes share it', () => {
    const folder = newFolder();
    const frees = [shareFolder(folder), shareFolder(folder), lockForStart(folder)];
    for (const free of frees) free();
  });

  it('refuse it to who wants it alone for as long as one process uses it', () => {
    const folder = newFolder();
    const [first, second] = [shareFolder(folder), shareFolder(folder)];
    expect(() => haveFolderAlone(folder, '--fresh removes their data')).toThrow(/in use by other processes: stop them/);
    first();
    expect(() => haveFolderAlone(folder, '--fresh removes their data')).toThrow(/in use by other processes/);
    second();
    haveFolderAlone(folder, '--fresh removes their data')();
  });

  it('refuse it to every process while one empties it', () => {
    const folder = newFolder();
    const free = haveFolderAlone(folder, '--fresh removes their data');
    expect(() => shareFolder(folder)).toThrow(/is used alone by another start or command/);
    free();
    shareFolder(folder)();
  });

  it('refuse a second start', () => {
    const folder = newFolder();
    const free = lockForStart(folder);
    expect(() => lockForStart(folder)).toThrow(/in use by another start/);
    free();
  });

  it('name a lock file that is not one', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'processes.lock'), 'damaged '.repeat(1_000));
    expect(() => shareFolder(folder)).toThrow(/processes\.lock cannot be used as a lock file .*: remove it/);
  });
});
