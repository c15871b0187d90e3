import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A checkout has more files than this: with fewer, a check would pass because it has checked nothing. */
const FILES_MIN = 100;

/**
 * The files of a checkout that git has or would add, relative to it.
 * @param {string} root
 */
export const filesOfCheckout = (root) => {
  const options = ['--cached', '--others', '--exclude-standard', '-z'];
  const files = execFileSync('git', ['ls-files', ...options], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)));
  if (files.length < FILES_MIN) throw new Error(`only ${String(files.length)} files were found in ${root}`);
  return files;
};
