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

/** Makes sure that the packages are installed and dist is built from the sources as they are, whoever else does so too. */
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
    throw new Failure(`${path ?? root} cannot be written (${message}): see to that and start again.`);
  }
};
