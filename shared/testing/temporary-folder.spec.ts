import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from './temporary-folder.ts';

describe('a temporary folder', () => {
  const folder = temporaryFolder();
  // Stands for a hook that stops a program: jest runs this hook after the hooks that were set before.
  afterAll(() => {
    writeFileSync(join(folder, 'late'), 'written by a program that is being stopped');
  });

  it('stays until the last hook of the spec file has run', () => {
    expect(existsSync(folder)).toBe(true);
  });
});
