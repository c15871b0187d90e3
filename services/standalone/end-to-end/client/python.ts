import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Kept, so that packages are installed once for a checkout. */
const folder = join(import.meta.dirname, '../../../../node_modules/.cache/python');
const INSTALLED_WITHIN_MS = 120_000;

const succeeds = (command: string, args: readonly string[]): boolean =>
  spawnSync(command, args, { timeout: INSTALLED_WITHIN_MS, stdio: 'ignore' }).status === 0;

/**
 * Returns a Python that can import these modules: the machine's, or one with the packages of a file of requirements;
 * `undefined` if there is no Python, or the packages cannot be installed.
 */
export const pythonWith = (modules: readonly string[], requirements: string): string | undefined => {
  const own = join(folder, 'bin/python');
  const found = ['python3', own].find((python) => succeeds(python, ['-c', `import ${modules.join(', ')}`]));
  if (found !== undefined) return found;
  const isInstalled =
    succeeds('python3', ['-m', 'venv', folder]) &&
    succeeds(own, ['-m', 'pip', 'install', '--quiet', '--requirement', requirements]);
  return isInstalled ? own : undefined;
};
