import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { inspectInstallation, install, recordInstallation } from './install.mjs';

const folder = temporaryFolder();
const { PATH } = process.env;
let root: string;
let checkouts = 0;

const manifests = { dependencies: { product: 'file:product.tgz' }, devDependencies: { tool: 'file:tool.tgz' } };
/** Makes a package that npm needs no registry for. */
const pack = (name: string): void => {
  const source = join(root, name, 'package');
  mkdirSync(source, { recursive: true });
  const scripts = { postinstall: 'echo tracked > ../../tracked' };
  writeFileSync(join(source, 'package.json'), JSON.stringify({ name, version: '1.0.0', scripts }));
  execFileSync('tar', ['-czf', join(root, `${name}.tgz`), '-C', join(root, name), 'package']);
};
const isInstalled = (name: string): boolean => existsSync(join(root, 'node_modules', name, 'package.json'));

beforeEach(() => {
  checkouts += 1;
  root = join(folder, String(checkouts));
  mkdirSync(root);
  pack('product');
  pack('tool');
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifests));
  const lock = {
    lockfileVersion: 3,
    packages: {
      '': manifests,
      'node_modules/product': { version: '1.0.0', resolved: 'file:product.tgz', hasInstallScript: true },
      'node_modules/tool': { version: '1.0.0', resolved: 'file:tool.tgz', dev: true, hasInstallScript: true },
    },
  };
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lock));
});
afterEach(() => {
  process.env['PATH'] = PATH;
});

describe('installing', () => {
  it('installs what running needs, then what development needs, and keeps that', async () => {
    await install(root);
    recordInstallation(root);
    expect([isInstalled('product'), isInstalled('tool')]).toEqual([true, false]);
    expect(inspectInstallation(root, { development: true }).whole).toBe(false);
    await install(root, { development: true });
    recordInstallation(root);
    expect([isInstalled('product'), isInstalled('tool')]).toEqual([true, true]);
    expect(inspectInstallation(root, { development: true }).whole).toBe(true);
    await install(root);
    expect(isInstalled('tool')).toBe(true);
  });

  it('runs no script of a package', async () => {
    await install(root, { development: true });
    expect(existsSync(join(root, 'tracked'))).toBe(false);
  });

  it('is done by the npm of this machine, never on a Node of the packages', async () => {
    const bin = join(folder, 'node_modules/.bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'npm'), '#!/bin/sh\nexit 1\n');
    chmodSync(join(bin, 'npm'), 0o755);
    process.env['PATH'] = [bin, PATH].join(delimiter);
    await install(root);
    expect(isInstalled('product')).toBe(true);
  });
});

describe('the packages of this checkout', () => {
  const checkout = join(import.meta.dirname, '../../..');
  const textOf = (file: string): string => readFileSync(join(checkout, file), 'utf8');

  it('run no script when npm installs them, and none of them tracks', () => {
    expect(textOf('.npmrc')).toMatch(/^ignore-scripts=true$/m);
    expect(textOf('package-lock.json')).not.toContain('scarf');
  });

  it('have no packaged Node among them', () => {
    expect(textOf('package-lock.json')).not.toMatch(/node_modules\/node-(bin-)?(linux|darwin)/);
  });
});
