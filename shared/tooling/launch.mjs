import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Failure } from './failure.mjs';
import { NODE_MAJOR, nodeBinary } from './installation/node.mjs';
import { getReady, root } from './ready.mjs';

/** Node keeps the compiled code of modules here: a program starts in five sixths of the processor time. */
const COMPILED = join(root, 'node_modules/.cache/compiled');
/** npm forwards a signal that the terminal has sent already. Nobody presses Ctrl-C twice within this time. */
const SAME_SIGNAL_MS = 300;
const PARENT_POLL_MS = 500;

/**
 * Calls back when the npm that runs this process was killed. A program that was started without npm may outlive its shell.
 * @param {() => void} onGone
 */
const watchNpm = (onGone) => {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const npm = process.ppid;
  const poll = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(poll);
    onGone();
  }, PARENT_POLL_MS);
  poll.unref();
};

/**
 * Runs Node as a child process until it ends, and returns its exit code. The child is in a process group of its own, so
 * that it receives a Ctrl-C only once, from this process. If this process is killed, the child's IPC channel disconnects.
 * @param {string[]} argv
 * @param {(line: string) => void} [onLine] receives the child's output line by line; without it the child writes to this terminal
 * @param {NodeJS.ProcessEnv} [environment] default: that of this process
 * @returns {Promise<number>}
 */
export const runNode = (argv, onLine, environment = process.env) => {
  const output = onLine ? 'pipe' : 'inherit';
  // A process with keys opens no debugger to whoever may send it SIGUSR1.
  const child = spawn(nodeBinary(), ['--disable-sigusr1', ...argv], {
    detached: true,
    env: { NODE_COMPILE_CACHE: COMPILED, ...environment },
    stdio: ['inherit', output, output, 'ipc'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream && onLine) createInterface(stream).on('line', onLine);
  }
  let forwardedAt = -Infinity;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      if (performance.now() - forwardedAt < SAME_SIGNAL_MS) return;
      forwardedAt = performance.now();
      child.kill(signal);
    });
  }
  watchNpm(() => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    child.once('error', ({ message }) => {
      reject(
        new Failure(`Node ${String(NODE_MAJOR)} does not run (${message}): delete .node/node_modules and start again.`),
      );
    });
    child.once('close', (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
};

/**
 * Runs a built program, after installing and building what is missing.
 * @param {string} program its path below dist
 * @param {string[]} args
 */
export const launch = async (program, args) => {
  await getReady();
  process.exitCode = await runNode(['--enable-source-maps', join(root, 'dist', program), ...args]);
};
