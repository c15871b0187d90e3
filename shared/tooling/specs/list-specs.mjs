import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { jestCommand } from './jest-command.mjs';

/** @typedef {{ file: string, text: string }} Spec a spec file with its text */

/**
 * Returns the specs that jest selects by these arguments, in the order of their paths. Fails if jest rejects the arguments.
 * @param {readonly string[]} args
 * @returns {Promise<Spec[]>}
 */
export const listSpecs = async (args) => {
  const listing = [...jestCommand, ...args, '--listTests', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, listing, { maxBuffer: Infinity });
  /** @type {string[]} */
  const files = JSON.parse(stdout);
  return files.toSorted().map((file) => ({ file, text: readFileSync(file, 'utf8') }));
};
