import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { it } from '@jest/globals';

const folderOf = (program: string): string => join(import.meta.dirname, program);

/** Returns `it`; where there is no Go, or the packages of this program cannot be had, it says so and skips. */
export const withGo = (program: string): typeof it | typeof it.skip => {
  const { status, stderr, error } = spawnSync('go', ['mod', 'download'], { cwd: folderOf(program), encoding: 'utf8' });
  if (status === 0) return it;
  const why = (error?.message ?? stderr).trim().split('\n')[0] ?? '';
  process.stdout.write(`${program} is skipped: there is no Go, or its packages cannot be had (${why})\n`);
  return it.skip;
};

/** Runs a program of this folder, and returns what it prints. @throws with what it printed on standard error */
export const runGo = async (program: string, ...args: string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)('go', ['run', '.', ...args], { cwd: folderOf(program) });
  return stdout;
};
