import { runCommand } from './failure.mjs';
import { getReady } from './ready.mjs';
import { runChecks } from './run-checks.mjs';

const SPECS = ['node', 'shared/tooling/test.mjs'];

/** What tells within two minutes whether it is worth going on. All at once: specs wait more than they work. */
const checks = [
  {
    what: 'specs without servers',
    command: [...SPECS, '--without-servers', '--selectProjects', 'unit', 'integration'],
  },
  { what: 'main path in one process', command: [...SPECS, 'services/standalone/end-to-end/one-process'] },
  { what: 'types', command: ['tsc', '-p', '.'] },
];

await runCommand(async () => {
  await getReady();
  process.exitCode = await runChecks(checks, checks.length);
});
