import { runCommand } from '../failure.mjs';
import { jestCommand } from './jest-command.mjs';
import { listSpecs } from './list-specs.mjs';
import { startInContainers } from './servers-in-containers.mjs';
import { runSpecJobs } from './spec-jobs.mjs';
import { runNode } from '../launch.mjs';
import { missingServers, skippedSuites } from './test-servers.mjs';

const args = process.argv.slice(2);
const isSelection = args.length > 0;
const jest = [...jestCommand, ...args];

/** The file names of specs that may need a server. */
const MAY_NEED_SERVERS = /\.(int|e2e|long)\.spec\.ts$/;

/** The selected specs; none if jest rejects the arguments, which it then reports. */
const selectedSpecs = async () => {
  try {
    return await listSpecs(args);
  } catch {
    return [];
  }
};

/** All specs run as jobs side by side; a selection runs in one jest. */
const runSpecs = () =>
  isSelection
    ? runNode(jest)
    : runSpecJobs({ run: (jobArgs, onLine) => runNode([...jest, ...jobArgs], onLine), print: console.log });

// Runs on our own Node: testcontainers does not load on an old one.
await runCommand(async () => {
  const specs = await selectedSpecs();
  const textsWithServers = specs.filter(({ file }) => MAY_NEED_SERVERS.test(file)).map(({ text }) => text);
  // A run of all takes servers that are there, and waits for no container.
  const missing = isSelection ? missingServers(textsWithServers, process.env) : [];
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      interruption.abort();
    });
  }
  const servers = await startInContainers(missing, console.error);
  for (const line of skippedSuites(textsWithServers, process.env)) console.error(line);
  if (!isSelection) console.error('npm run test:all runs the long specs too, and starts servers for them.');
  try {
    Object.assign(process.env, servers.settings);
    process.exitCode = interruption.signal.aborted ? 130 : await runSpecs();
  } finally {
    await servers.stop();
  }
});
