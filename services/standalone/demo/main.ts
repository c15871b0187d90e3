import { Command } from 'commander';
import { runDemo } from './demo.ethers.ts';

await new Command('npm run demo --')
  .description('shows the main path against a running npm start; exits with 1 if a step fails')
  .addHelpText(
    'after',
    '\nExamples:\n  npm run demo\n  DATA_DIR=/tmp/other npm run demo   # beside an npm start with this data folder',
  )
  .action(async () => {
    process.exitCode = (await runDemo((line) => process.stdout.write(`${line}\n`))) ? 0 : 1;
  })
  .parseAsync();
