import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { runCommand } from './failure.mjs';
import { getReady, root } from './ready.mjs';

const AT_ONCE = 2;

/** The slowest first, so that none is waited for alone. */
const checks = [
  { what: 'lint', command: ['eslint', '.'] },
  { what: 'unit specs', command: ['node', 'shared/tooling/test.mjs', '--selectProjects', 'unit'] },
  { what: 'types', command: ['tsc', '-p', '.'] },
  { what: 'unused code', command: ['knip'] },
  { what: 'format', command: ['prettier', '--check', '.'] },
  { what: 'dependency rules', command: ['depcruise', 'deploy', 'schemas', 'services', 'shared'] },
];

/** @param {(typeof checks)[number]} check */
const run = async ({ what, command: [program = '', ...args] }) => {
  const startedAt = performance.now();
  const PATH = [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
  const child = spawn(program, args, { cwd: root, env: { ...process.env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
  /** @type {Promise<number | null>} */
  const exit = new Promise((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  if (code === 0) {
    console.log(`ok      ${what} (${seconds} s)`);
    return true;
  }
  console.log(`FAILED  ${what} (${seconds} s): ${[program, ...args].join(' ')}\n${output}${errors}`);
  return false;
};

await runCommand(async () => {
  await getReady();
  const [waiting, results] = [checks.values(), /** @type {boolean[]} */ ([])];
  const worker = async () => {
    for (const check of waiting) results.push(await run(check));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (results.includes(false)) process.exitCode = 1;
});
