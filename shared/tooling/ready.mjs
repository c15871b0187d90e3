import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.mjs';
import { exclusively } from './exclusive.mjs';
import { Failure } from './failure.mjs';
import { inspectInstallation, install } from './install.mjs';

/** The checkout's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

const installAndBuild = async () => {
  if (!inspectInstallation(root).whole) {
    console.error('Installing the packages; this takes a minute, once.');
    await install(root);
  }
  if (!isBuilt(root)) await build(root);
};

/** Installs the packages and builds dist unless both are up to date; safe while other processes do the same. */
export const getReady = async () => {
  if (inspectInstallation(root).whole && isBuilt(root)) return;
  try {
    mkdirSync(join(root, 'dist'), { recursive: true });
    const onWait = () => {
      console.error('Another start is installing or building; waiting for it.');
    };
    await exclusively({ lock: join(root, 'dist/.lock'), onWait }, installAndBuild);
  } catch (error) {
    const { code, path, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(code ?? '')) throw error;
    throw new Failure(`${path ?? root} cannot be written (${message}): correct that and start again.`);
  }
};
