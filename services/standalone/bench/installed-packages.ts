import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Returns a folder with packages that are not dependencies of this program, because they bring hundreds of others, or
 * have another kind of licence. Installs them into the user's cache on first use.
 */
export const installedPackages = (name: string, packages: readonly string[]): string => {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), `annals-bench-${name}`);
  const isWhole = join(folder, 'installed');
  if (existsSync(isWhole)) return folder;
  process.stderr.write(`Installing ${packages.join(' ')} into ${folder}; this takes a minute, once.\n`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
  execFileSync('npm', ['install', ...packages, ...options], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(isWhole, packages.join('\n'));
  return folder;
};
