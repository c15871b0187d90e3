import { join } from 'node:path';
import { runCommand } from './failure.mjs';
import { jestCommand } from './jest-command.mjs';
import { getReady, root } from './ready.mjs';
import { runChecks } from './run-checks.mjs';

const jest = ['node', ...jestCommand];
const withoutServers = ['--filter', join(root, 'shared/tooling/without-servers.mjs')];

/** The checks before a commit, within two minutes. They run at once, because specs wait more than they compute. */
const checks = [
  { what: 'specs without servers', command: [...jest, ...withoutServers, '--selectProjects', 'unit', 'integration'] },
  { what: 'main path in one process', command: [...jest, 'services/standalone/end-to-end/one-process'] },
  { what: 'types', command: ['node', 'node_modules/typescript-7/bin/tsc', '-p', '.'] },
];

await runCommand(async () => {
  await getReady({ development: true });
  process.exitCode = await runChecks(checks, checks.length);
});
