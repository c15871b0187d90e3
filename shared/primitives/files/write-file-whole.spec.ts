import fs, { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { createFileWhole, writeFileWhole } from './write-file-whole.ts';

const flushed: string[] = [];
beforeAll(() => {
  const { fsyncSync } = fs;
  jest.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
    flushed.push(fs.fstatSync(descriptor).isDirectory() ? 'folder' : 'file');
    fsyncSync(descriptor);
  });
  syncBuiltinESMExports();
});
afterAll(() => {
  jest.restoreAllMocks();
  syncBuiltinESMExports();
});
beforeEach(() => {
  flushed.length = 0;
});

const folder = temporaryFolder();
const newFolder = (name: string): string => {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
};

describe.each([
  ['made', createFileWhole],
  ['written', writeFileWhole],
])('a file that is %s whole', (name, write) => {
  it('has its mode from the beginning, and leaves no temporary file', () => {
    const inside = newFolder(name);
    write(join(inside, 'key'), 'text', 0o600);
    expect(readFileSync(join(inside, 'key'), 'utf8')).toBe('text');
    expect(statSync(join(inside, 'key')).mode & 0o777).toBe(0o600);
    expect(readdirSync(inside)).toEqual(['key']);
  });

  it('is on the disk, and so is its name', () => {
    write(join(newFolder(`${name} to stay`), 'key'), 'text', 0o600);
    expect(flushed).toEqual(['file', 'folder']);
  });
});

describe('an existing file', () => {
  it('is kept when another process creates it', () => {
    const file = join(newFolder('both'), 'key');
    createFileWhole(file, 'first', 0o600);
    createFileWhole(file, 'second', 0o600);
    expect(readFileSync(file, 'utf8')).toBe('first');
  });

  it('is replaced when it is written', () => {
    const file = join(newFolder('again'), 'key');
    writeFileWhole(file, 'first', 0o600);
    writeFileWhole(file, 'second', 0o600);
    expect(readFileSync(file, 'utf8')).toBe('second');
  });

  it('leaves no temporary file when it cannot be replaced', () => {
    const inside = newFolder('refused');
    mkdirSync(join(inside, 'key', 'full'), { recursive: true });
    expect(() => {
      writeFileWhole(join(inside, 'key'), 'text', 0o600);
    }).toThrow('directory');
    expect(readdirSync(inside)).toEqual(['key']);
  });
});
