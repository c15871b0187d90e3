import { runCommand } from './failure.mjs';
import { getReady } from './ready.mjs';
import { runChecks } from './checks/run-checks.mjs';

const AT_ONCE = 2;

/** The slowest first, so that the total time is short. */
const checks = [
  // Rules that need types have every type checked anyway: a compiler beside them would do the same work twice.
  { what: 'types and lint', command: ['oxlint', '--type-check'] },
  { what: 'unused code', command: ['knip'] },
  { what: 'dependency rules', command: ['node', 'shared/tooling/checks/check-dependencies.mjs'] },
  { what: 'files in a folder', command: ['node', 'shared/tooling/checks/check-folder-sizes.mjs'] },
  { what: 'words', command: ['node', 'shared/tooling/checks/check-words.mjs'] },
  { what: 'format', command: ['oxfmt', '--check'] },
  { what: 'bill of materials', command: ['node', 'shared/tooling/sbom.mjs', '--check'] },
];

await runCommand(async () => {
  await getReady({ development: true });
  process.exitCode = await runChecks(checks, AT_ONCE);
});
