import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { findInstalledNode } from './node.mjs';

const folder = temporaryFolder();
const checkout = join(import.meta.dirname, '../../..');
const ofPackages = join(checkout, 'node_modules/node-of-a-spec/node');

/** A program that says that it is a Node of this version. */
const node = (version: string, path = join(folder, version, 'node')): string => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho v${version}\n`);
  chmodSync(path, 0o755);
  return path;
};
const find = (execPath: string, env: Record<string, string> = {}) => findInstalledNode({ execPath, env });

afterEach(() => {
  rmSync(dirname(ofPackages), { recursive: true, force: true });
});

describe('an installed Node 26', () => {
  const [old, right, newer] = [node('20.20.2'), node('26.1.0'), node('27.0.0')];

  it('is what runs this process, if that is new enough', () => {
    expect(find(right, { npm_node_execpath: newer })).toBe(right);
    expect(find(newer)).toBe(newer);
  });

  it('else is what runs npm, else what is on PATH', () => {
    const PATH = [join(folder, 'nowhere'), dirname(old), dirname(newer)].join(delimiter);
    expect(find(old, { npm_node_execpath: right, PATH })).toBe(right);
    expect(find(old, { npm_node_execpath: old, PATH })).toBe(newer);
  });

  it('is missing where all are older', () => {
    const folderOfThatName = join(folder, 'folders/node');
    mkdirSync(folderOfThatName, { recursive: true });
    expect(find(folderOfThatName)).toBeUndefined();
    expect(find(old, { PATH: dirname(old) })).toBeUndefined();
    expect(find(old)).toBeUndefined();
  });

  it('is none that npm may replace', () => {
    expect(find(node('26.1.0', ofPackages))).toBeUndefined();
  });
});
