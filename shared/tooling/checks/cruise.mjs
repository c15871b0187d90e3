import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../ready.mjs';

/** The folders whose modules the dependency rules check. */
export const FOLDERS = ['deploy', 'schemas', 'services', 'shared'];

/** @typedef {{ from: string, to: string, rule: { name: string } }} Violation */

/**
 * Runs dependency-cruiser with our rules over the modules of a checkout.
 * @param {string} checkout
 * @returns {Promise<{ modules: { source: string }[], summary: { violations: Violation[] } }>}
 */
export const cruise = async (checkout) => {
  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const options = ['--config', join(root, '.dependency-cruiser.mjs'), '--output-type', 'json'];
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...options, ...FOLDERS], {
    cwd: checkout,
    maxBuffer: 256 * 1024 * 1024,
  });
  return JSON.parse(stdout);
};
