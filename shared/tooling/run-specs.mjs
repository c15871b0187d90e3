import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { runCommand } from './failure.mjs';
import { jestCommand } from './jest-command.mjs';
import { runLanes } from './lanes.mjs';
import { runNode } from './launch.mjs';
import { missingServers, skippedSuites, startServers } from './test-servers.mjs';

const args = process.argv.slice(2);
const jest = [...jestCommand, ...args];

/** What a spec is called that needs more than itself. */
const NEEDY = /\.(int|e2e)\.spec\.ts$/;

/** The texts of such specs that jest is going to run; none where it does not understand what it is asked. */
const selectedSpecs = async () => {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...jest, '--listTests', '--json']);
    /** @type {string[]} */
    const files = JSON.parse(stdout);
    return files.filter((file) => NEEDY.test(file)).map((file) => readFileSync(file, 'utf8'));
  } catch {
    return [];
  }
};

/** testcontainers takes a moment to load and needs the packages: only where it has something to do. */
const containers = async () => {
  const { findEngine, startContainer } = await import('./container-servers.mjs');
  const engine = await findEngine();
  /** @type {import('./test-servers.mjs').StartServer | undefined} */
  const start = engine && ((setting, image) => startContainer(engine, setting, image));
  return start;
};

/** All of them run in lanes; what somebody picks out, in one jest. */
const runSpecs = () =>
  args.length === 0
    ? runLanes({ run: (lane, onLine) => runNode([...jest, ...lane], onLine), say: console.log })
    : runNode(jest);

// Runs on our own Node: testcontainers does not load on an old one.
await runCommand(async () => {
  const specs = await selectedSpecs();
  const missing = missingServers(specs, process.env);
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      interruption.abort();
    });
  }
  const start = missing.length > 0 ? await containers() : undefined;
  const servers = await startServers(missing, { environment: process.env, start, say: console.error });
  for (const line of skippedSuites(specs, process.env)) console.error(line);
  try {
    Object.assign(process.env, servers.settings);
    process.exitCode = interruption.signal.aborted ? 130 : await runSpecs();
  } finally {
    await servers.stop();
  }
});
