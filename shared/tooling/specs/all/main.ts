import { Command } from 'commander';
import { runCommand } from '../../failure.mjs';
import { printSuites, runAll } from './run-all.ts';

const EXAMPLES = `
Examples:
  npm run test:all                     every suite, one after another
  npm run test:all -- faults attacks   two suites
  npm run test:all -- --continue       goes on where the last run was interrupted

docs/testing.md says what the suites need. CASES_SEED and FUZZ_SEED repeat the random cases of a run that has printed them.`;

const program = new Command('npm run test:all --')
  .description('runs every spec at its full size')
  .argument('[suites...]', 'default: all')
  .option('--continue', 'keep the results of the last run, which was of the same commit, and run what it has not')
  .option('--list', 'print the suites, and run nothing')
  .addHelpText('after', EXAMPLES)
  .action(async (names: string[], options: { continue?: boolean; list?: boolean }) => {
    if (options.list) return printSuites(names);
    process.exitCode = await runAll(names, options.continue ?? false);
  });

await runCommand(async () => {
  await program.parseAsync();
});
