import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { fitsLockfile, inspectInstallation, recordInstallation } from './install.mjs';

const folder = temporaryFolder();
let root: string;
let checkouts = 0;

const write = (file: string, content: string): void => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), content);
};
const remove = (file: string): void => {
  rmSync(join(root, file), { recursive: true });
};

/** Writes what npm writes in an installation. */
beforeEach(() => {
  checkouts += 1;
  root = join(folder, String(checkouts));
  write('package-lock.json', '{}');
  write('node_modules/.bin/tool', '');
  for (const name of ['left', 'right']) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name }));
    write(`node_modules/${name}/dist/main.js`, '');
  }
  const packages = { 'node_modules/left': {}, 'node_modules/right': {} };
  write('node_modules/.package-lock.json', JSON.stringify({ packages }));
  recordInstallation(root);
});

const installed = (packages: object): void => {
  write('node_modules/.package-lock.json', JSON.stringify({ packages }));
  recordInstallation(root);
};

describe('an installation', () => {
  it('is whole once it is recorded', () => {
    expect(inspectInstallation(root)).toEqual({ whole: true, remove: [] });
  });

  it('is incomplete for development when packages that only development needs are missing', () => {
    const development = { development: true };
    expect(inspectInstallation(root, development)).toEqual({ whole: false, remove: [] });
    installed({ 'node_modules/left': {}, 'node_modules/right': { dev: true } });
    expect(inspectInstallation(root, development)).toEqual({ whole: true, remove: [] });
    expect(inspectInstallation(root)).toEqual({ whole: true, remove: [] });
  });

  it('can be recorded again', () => {
    recordInstallation(root);
    expect(inspectInstallation(root).whole).toBe(true);
  });

  it('is incomplete when the lockfile has changed or there is no record of it', () => {
    write('package-lock.json', '{ "packages": {} }');
    expect(inspectInstallation(root)).toEqual({ whole: false, remove: [] });
    write('package-lock.json', '{}');
    remove('node_modules/.annals-installed.json');
    expect(inspectInstallation(root)).toEqual({ whole: false, remove: [] });
  });

  it('is incomplete when its record is damaged', () => {
    const record = readFileSync(join(root, 'node_modules/.annals-installed.json'), 'utf8');
    write('node_modules/.annals-installed.json', record.slice(0, 20));
    expect(inspectInstallation(root)).toEqual({ whole: false, remove: [] });
  });

  it('is repeated from the beginning when npm did not complete it', () => {
    remove('node_modules/.package-lock.json');
    expect(inspectInstallation(root)).toEqual({ whole: false, remove: ['node_modules'] });
    remove('node_modules');
    expect(inspectInstallation(root).whole).toBe(false);
  });

  it.each(['node_modules/left', 'node_modules/left/dist'])('is damaged when %s is missing', (lost) => {
    remove(lost);
    const damaged = ['node_modules/left', 'node_modules/.package-lock.json'];
    expect(inspectInstallation(root)).toEqual({ whole: false, remove: damaged });
  });

  it('is damaged when a command is missing', () => {
    remove('node_modules/.bin/tool');
    expect(inspectInstallation(root).remove).toContain('node_modules/.bin');
  });
});

describe('what `npm ci` installed', () => {
  const locked = {
    '': {},
    'node_modules/left': { version: '1.0.0' },
    'node_modules/right': { version: '2.0.0', dev: true },
  };
  const lock = (packages: object): void => {
    write('package-lock.json', JSON.stringify({ packages }));
  };
  const development = { development: true };

  it('fits the lockfile without a record of ours', () => {
    lock({ ...locked, 'node_modules/elsewhere': { version: '1.0.0', optional: true, os: ['another'] } });
    write('node_modules/.package-lock.json', JSON.stringify({ packages: locked }));
    expect([fitsLockfile(root), fitsLockfile(root, development)]).toEqual([true, true]);
  });

  it('fits the lockfile for running, but not for development, when packages that only development needs are missing', () => {
    lock(locked);
    const installed = { 'node_modules/left': locked['node_modules/left'] };
    write('node_modules/.package-lock.json', JSON.stringify({ packages: installed }));
    expect([fitsLockfile(root), fitsLockfile(root, development)]).toEqual([true, false]);
  });

  it('does not fit a lockfile that names another version', () => {
    lock({ ...locked, 'node_modules/left': { version: '1.0.1' } });
    write('node_modules/.package-lock.json', JSON.stringify({ packages: locked }));
    expect(fitsLockfile(root)).toBe(false);
  });

  it('does not fit a lockfile whose package for this machine is missing', () => {
    const { platform, arch } = process;
    lock({ ...locked, 'node_modules/native': { version: '1.0.0', optional: true, os: [platform], cpu: [arch] } });
    write('node_modules/.package-lock.json', JSON.stringify({ packages: locked }));
    expect(fitsLockfile(root)).toBe(false);
  });

  it('does not fit the lockfile when the folder of a package is missing', () => {
    lock(locked);
    write('node_modules/.package-lock.json', JSON.stringify({ packages: locked }));
    remove('node_modules/left');
    expect(fitsLockfile(root)).toBe(false);
  });
});
