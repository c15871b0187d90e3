import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.mjs';
import { exclusively } from './installation/exclusive.mjs';
import { Failure } from './failure.mjs';
import { fitsLockfile, inspectInstallation, install, recordInstallation } from './installation/install.mjs';
import { findNode, nodeFolder } from './installation/node.mjs';

/** The checkout's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** @typedef {{ development?: boolean }} Needs whether packages that only development needs must be installed too */

/** npm links programs of dependencies, but not our own; without the link, npx uses its cache, which may be outdated. */
const linkProgram = () => {
  const link = join(root, 'node_modules/.bin/annals');
  rmSync(link, { force: true });
  symlinkSync('../../shared/tooling/annals.mjs', link);
};

/** @param {Needs} needs */
const installPackages = async (needs) => {
  const { whole, remove } = inspectInstallation(root, needs);
  if (whole) return;
  // After `npm ci` only our record is missing.
  if (remove.length > 0 || !fitsLockfile(root, needs)) {
    console.error('Installing the packages; this takes a minute, once.');
    await install(root, needs);
  }
  linkProgram();
  recordInstallation(root);
};

/** @param {Needs} needs */
const installAndBuild = async (needs) => {
  await installPackages(needs);
  if (!isBuilt(root)) await build(root);
};

const hasNode = () => findNode() !== undefined;

const installNode = async () => {
  if (hasNode()) return;
  console.error('Installing Node, because none that is new enough is installed.');
  await install(nodeFolder);
  recordInstallation(nodeFolder);
};

/** @param {Needs} needs */
const prepare = async (needs) => {
  const outcomes = await Promise.allSettled([installAndBuild(needs), installNode()]);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
};

/**
 * Installs the packages, builds dist, and installs Node, unless all that is there; safe while other processes do the same.
 * @param {Needs} [needs]
 */
export const getReady = async (needs = {}) => {
  if (inspectInstallation(root, needs).whole && isBuilt(root) && hasNode()) return;
  try {
    mkdirSync(join(root, 'dist'), { recursive: true });
    const onWait = () => {
      console.error('Another start is installing or building; waiting for it.');
    };
    await exclusively({ lock: join(root, 'dist/.lock'), onWait }, () => prepare(needs));
  } catch (error) {
    const { code, path, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(code ?? '')) throw error;
    throw new Failure(`${path ?? root} cannot be written (${message}): correct that and start again.`);
  }
};
