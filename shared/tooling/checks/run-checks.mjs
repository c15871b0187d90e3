import { spawn } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { nodeBinary } from '../installation/node.mjs';
import { root } from '../ready.mjs';

/** @typedef {{ what: string, command: string[] }} Check */

/** @param {number} since */
const secondsSince = (since) => `${((performance.now() - since) / 1_000).toFixed(1)} s`;

/**
 * Runs one program. If it succeeds, only the last line of its output is printed.
 * @param {Check} check
 */
const run = async ({ what, command: [program = '', ...args] }) => {
  const startedAt = performance.now();
  const PATH = [join(root, 'node_modules/.bin'), dirname(nodeBinary()), process.env['PATH']].join(delimiter);
  const child = spawn(program, args, { cwd: root, env: { ...process.env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
  /** @type {Promise<number | null>} */
  const exit = new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  const took = secondsSince(startedAt);
  if (code === 0) console.log(`ok      ${what} (${took}) ${output.trimEnd().split('\n').at(-1) ?? ''}`.trimEnd());
  else console.log(`FAILED  ${what} (${took}): ${[program, ...args].join(' ')}\n${output}${errors}`);
  return code === 0;
};

/**
 * Runs programs in this order, so many at a time, and prints the result of each and the total time.
 * @param {readonly Check[]} checks
 * @param {number} atOnce
 * @returns {Promise<number>} the exit code
 */
export const runChecks = async (checks, atOnce) => {
  const startedAt = performance.now();
  const [waiting, results] = [checks.values(), /** @type {boolean[]} */ ([])];
  const worker = async () => {
    for (const check of waiting) results.push(await run(check));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const failed = results.filter((succeeded) => !succeeded).length;
  console.log(`${failed === 0 ? 'all is well' : `${String(failed)} failed`}, after ${secondsSince(startedAt)}`);
  return failed === 0 ? 0 : 1;
};
