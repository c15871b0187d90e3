import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { runCommand } from '../failure.mjs';
import { jestCommand } from './jest-command.mjs';
import { runSpecJobs } from './spec-jobs.mjs';
import { runNode } from '../launch.mjs';
import { differsInLongRun, missingServers, skippedSuites, startServers } from './test-servers.mjs';

const OPTIONS = ['--all', '--without-repeats'];
const args = process.argv.slice(2).filter((arg) => !OPTIONS.includes(arg));
const withLong = process.argv.includes('--all');
const withoutRepeats = process.argv.includes('--without-repeats');
const isSelection = args.length > 0;
/** How much of what is drawn at random the long run tries, unless it is told. */
if (withLong)
  process.env = {
    CASES: '1',
    SEEDS: '1000',
    SEEDS_EACH: '100',
    FUZZ_REQUESTS: '20000',
    CASES_SEED: String(randomInt(2 ** 31)),
    FUZZ_SEED: String(randomInt(2 ** 31)),
    ...process.env,
  };
const jest = [...jestCommand, ...args];

/** The file names of specs that may need a server. */
const MAY_NEED_SERVERS = /\.(int|e2e|long)\.spec\.ts$/;

/** The selected specs; none if jest rejects the arguments, which it then reports. */
const selectedSpecs = async () => {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...jest, '--listTests', '--json']);
    /** @type {string[]} */
    const files = JSON.parse(stdout);
    return files.map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  } catch {
    return [];
  }
};

/** Loads testcontainers, which is slow, only when a server must be started in a container. */
const containerStarter = async () => {
  const { findEngine, startContainer } = await import('./container-servers.mjs');
  const engine = await findEngine();
  /** @type {import('./test-servers.mjs').StartServer | undefined} */
  const start = engine && ((setting, image) => startContainer(engine, setting, image));
  return start;
};

/**
 * All specs run as jobs side by side; a selection runs in one jest.
 * @param {Awaited<ReturnType<typeof selectedSpecs>>} specs
 */
const runSpecs = (specs) => {
  if (isSelection) return runNode(jest);
  const files = withoutRepeats
    ? ['--runTestsByPath', ...specs.filter((spec) => differsInLongRun(spec, process.env)).map(({ file }) => file)]
    : [];
  return runSpecJobs({
    withLong,
    run: (jobArgs, onLine) => runNode([...jest, ...jobArgs, ...files], onLine),
    print: console.log,
  });
};

// Runs on our own Node: testcontainers does not load on an old one.
await runCommand(async () => {
  const specs = await selectedSpecs();
  const textsWithServers = specs.filter(({ file }) => MAY_NEED_SERVERS.test(file)).map(({ text }) => text);
  // The shorter run takes servers that are there, and waits for no container.
  const missing = isSelection || withLong ? missingServers(textsWithServers, process.env) : [];
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      interruption.abort();
    });
  }
  const start = missing.length > 0 ? await containerStarter() : undefined;
  const servers = await startServers(missing, { environment: process.env, start, print: console.error });
  for (const line of skippedSuites(textsWithServers, process.env)) console.error(line);
  if (!isSelection && !withLong)
    console.error('npm run test:all runs the long specs too, and starts servers for them.');
  try {
    Object.assign(process.env, servers.settings);
    process.exitCode = interruption.signal.aborted ? 130 : await runSpecs(specs);
  } finally {
    await servers.stop();
  }
});
