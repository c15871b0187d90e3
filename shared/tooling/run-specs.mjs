import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runCommand } from './failure.mjs';
import { runLanes } from './lanes.mjs';
import { runNode } from './launch.mjs';
import { root } from './ready.mjs';
import { missingServers, skippedSuites, startServers } from './test-servers.mjs';

/** Only those specs that need no server of their own kind. */
const WITHOUT_SERVERS = '--without-servers';
const args = process.argv.slice(2).filter((arg) => arg !== WITHOUT_SERVERS);
const isWithoutServers = process.argv.includes(WITHOUT_SERVERS);

const jest = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(root, 'node_modules/jest/bin/jest.js'),
  '--rootDir',
  root,
  ...args,
];

/** The files that jest is going to run, and their texts; none where it does not understand what it is asked. */
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

/** What a spec is called that needs more than itself. */
const NEEDY = /\.(int|e2e)\.spec\.ts$/;

/** testcontainers takes a moment to load and needs the packages: only where it has something to do. */
const containers = async () => {
  const { findEngine, startContainer } = await import('./container-servers.mjs');
  const engine = await findEngine();
  /** @type {import('./test-servers.mjs').StartServer | undefined} */
  const start = engine && ((setting, image) => startContainer(engine, setting, image));
  return start;
};

/** Every spec runs in lanes; what somebody picks out, in one jest. */
const runSpecs = () =>
  args.length === 0
    ? runLanes({ run: (lane, onLine) => runNode([...jest, ...lane], onLine), say: console.log })
    : runNode(jest);

/** @param {Awaited<ReturnType<typeof selectedSpecs>>} specs */
const withServers = async (specs) => {
  const texts = specs.filter(({ file }) => NEEDY.test(file)).map(({ text }) => text);
  const missing = missingServers(texts, process.env);
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      interruption.abort();
    });
  }
  const start = missing.length > 0 ? await containers() : undefined;
  const servers = await startServers(missing, { environment: process.env, start, say: console.error });
  for (const line of skippedSuites(texts, process.env)) console.error(line);
  try {
    Object.assign(process.env, servers.settings);
    return interruption.signal.aborted ? 130 : await runSpecs();
  } finally {
    await servers.stop();
  }
};

// Runs on our own Node: testcontainers does not load on an old one.
await runCommand(async () => {
  const specs = await selectedSpecs();
  if (!isWithoutServers) process.exitCode = await withServers(specs);
  else {
    const files = specs.filter(({ text }) => !text.includes('whereServer(')).map(({ file }) => file);
    process.exitCode = await runNode([...jest, '--runTestsByPath', ...files]);
  }
});
