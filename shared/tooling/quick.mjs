import { runCommand } from './failure.mjs';
import { jestCommand } from './specs/jest-command.mjs';
import { getReady } from './ready.mjs';
import { runChecks } from './checks/run-checks.mjs';

const jest = ['node', ...jestCommand];
/** The specs of rules, which start nothing. */
const ofRules = ['--selectProjects', 'unit', '--testPathPatterns', '/domain/', '/schemas/', '/primitives/'];

/** The checks before a commit, in a minute or so. They run at once: the main path waits more than it computes. */
const checks = [
  { what: 'specs of rules', command: [...jest, ...ofRules] },
  { what: 'main path in one process', command: [...jest, 'services/standalone/end-to-end/one-process'] },
  { what: 'types', command: ['node', 'node_modules/typescript-7/bin/tsc', '-p', '.'] },
];

await runCommand(async () => {
  await getReady({ development: true });
  process.exitCode = await runChecks(checks, checks.length);
});
