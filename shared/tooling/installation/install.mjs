import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Failure } from '../failure.mjs';

/** Written by npm at the end of an installation: the packages that are installed. */
const INSTALLED = 'node_modules/.package-lock.json';
/** Written by `recordInstallation` after that; npm knows nothing of it. */
const STAMP = 'node_modules/.annals-installed.json';

/**
 * What was installed: `wanted` is a digest of the lockfile, `contents` the entries of each package's folder,
 * `development` whether the packages that only development needs are there too.
 * @typedef {{ wanted: string, development: boolean, contents: Record<string, string> }} Stamp
 * @typedef {{ packages?: Record<string, LockedPackage> }} Lockfile
 * @typedef {{ version?: string, dev?: boolean, optional?: boolean, os?: string[], cpu?: string[], libc?: string[] }} LockedPackage
 */

/** @param {string} folder */
const listing = (folder) => {
  try {
    return readdirSync(folder).join();
  } catch {
    return 'gone';
  }
};

/** @param {string} root */
const wanted = (root) =>
  createHash('sha256')
    .update(`${process.platform} ${process.arch} `)
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');

/**
 * @param {string} root
 * @returns {Stamp | undefined}
 */
const readStamp = (root) => {
  try {
    return /** @type {Stamp} */ (JSON.parse(readFileSync(join(root, STAMP), 'utf8')));
  } catch {
    // The file was never written, or its writing was interrupted.
    return undefined;
  }
};

/**
 * The packages that a lockfile names, by folder.
 * @param {string} file
 */
const packagesOf = (file) => {
  if (!existsSync(file)) return {};
  return /** @type {Lockfile} */ (JSON.parse(readFileSync(file, 'utf8'))).packages ?? {};
};

/**
 * What npm has installed.
 * @param {string} root
 */
const installedPackages = (root) => packagesOf(join(root, INSTALLED));

/** @param {string} root */
const hasDevelopment = (root) =>
  Object.entries(installedPackages(root)).some(([folder, { dev }]) => dev && folder.startsWith('node_modules/'));

/**
 * Compares the installed packages with the lockfile. `remove` names folders that npm would wrongly keep, because it
 * considers a package installed as soon as its package.json exists.
 * @param {string} root
 * @param {{ development?: boolean }} [needs]
 */
export const inspectInstallation = (root, { development = false } = {}) => {
  if (!existsSync(join(root, INSTALLED))) return { whole: false, remove: ['node_modules'] };
  const stamp = readStamp(root);
  const damaged = Object.entries(stamp?.contents ?? {})
    .filter(([folder, contents]) => listing(join(root, folder)) !== contents)
    .map(([folder]) => folder);
  if (damaged.length > 0) return { whole: false, remove: [...damaged, INSTALLED] };
  const whole = stamp?.wanted === wanted(root) && (stamp.development || !development);
  return { whole, remove: [] };
};

/**
 * Whether a package is needed on this machine. One with a C library of its own may be of the other one, which is not known here.
 * @param {LockedPackage} locked
 * @param {boolean} development
 */
const isNeeded = ({ dev, optional, os, cpu, libc }, development) => {
  const isForThisMachine = (os?.includes(process.platform) ?? true) && (cpu?.includes(process.arch) ?? true) && !libc;
  return (development || !dev) && (!optional || (os !== undefined && isForThisMachine));
};

/**
 * Whether npm has installed the packages of the lockfile that this machine needs, as `npm ci` does.
 * @param {string} root
 * @param {{ development?: boolean }} [needs]
 */
export const fitsLockfile = (root, { development = false } = {}) => {
  const installed = installedPackages(root);
  return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(
    ([folder, locked]) =>
      folder === '' ||
      !isNeeded(locked, development) ||
      (installed[folder]?.version === locked.version && existsSync(join(root, folder, 'package.json'))),
  );
};

/**
 * Writes down which packages are installed, and which files they have.
 * @param {string} root
 */
export const recordInstallation = (root) => {
  const folders = ['node_modules/.bin', ...Object.keys(installedPackages(root))];
  /** @type {Stamp} */
  const stamp = {
    wanted: wanted(root),
    development: hasDevelopment(root),
    contents: Object.fromEntries(folders.map((folder) => [folder, listing(join(root, folder))])),
  };
  writeFileSync(join(root, STAMP), JSON.stringify(stamp));
};

/** The environment without .bin folders, because npm must not run on a Node that it replaces. */
const outerEnvironment = () => ({
  ...process.env,
  PATH: process.env['PATH']
    ?.split(delimiter)
    .filter((folder) => !folder.endsWith(join('node_modules', '.bin')))
    .join(delimiter),
});

/** @param {string} report what npm wrote to its standard error */
const reasonIn = (report) =>
  report
    .split('\n')
    .map((line) => line.replace(/^npm (error|ERR!) /, ''))
    .find((line) => line !== '' && !/^(code|errno|syscall|path|dest) /.test(line));

const OPTIONS = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--include=optional', '--loglevel=error'];

/**
 * Installs missing packages, and runs no script of theirs. What development needs is kept where it is installed. It does
 * not use `npm ci`, which fails if the registry lacks an optional package of another platform.
 * @param {string} root
 * @param {{ development?: boolean }} [needs]
 */
export const install = async (root, { development = false } = {}) => {
  const which = development || hasDevelopment(root) ? '--include=dev' : '--omit=dev';
  for (const path of inspectInstallation(root).remove) rmSync(join(root, path), { recursive: true, force: true });
  const npm = spawn('npm', ['install', which, ...OPTIONS], {
    cwd: root,
    env: outerEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  /** @type {Promise<number | string | null>} */
  const exit = new Promise((resolve) => {
    npm
      .once('error', (error) => {
        resolve(error.message);
      })
      .once('close', resolve);
  });
  const [report, outcome] = await Promise.all([text(npm.stderr), exit]);
  if (outcome !== 0) {
    const reason = reasonIn(report) ?? String(outcome);
    throw new Failure(
      `The packages cannot be installed (${reason}): correct that and start again; "npm install" prints more.`,
    );
  }
};
