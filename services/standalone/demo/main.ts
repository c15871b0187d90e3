import { Command } from 'commander';
import { runDemo } from './demo.ethers.ts';

await new Command('npm run demo --')
  .description('shows the main path against a running npm start; exits with 1 if a step fails')
  .action(async () => {
    process.exitCode = (await runDemo((line) => process.stdout.write(`${line}\n`))) ? 0 : 1;
  })
  .parseAsync();
