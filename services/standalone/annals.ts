import { Command } from 'commander';
import { appCommand } from './command-line/app.commands.ts';
import { configCommand } from './command-line/config.commands.ts';
import { runCommandLine } from './command-line/run-command-line.ts';

const annals = new Command('annals')
  .description('accounts and chain events, event-sourced')
  .addCommand(appCommand())
  .addCommand(configCommand())
  .addHelpText(
    'after',
    `
Examples:
  npm start                                                    everything, in one process
  annals app create --name Shop --origin https://shop.example  an app that can log in at once
  annals app list --json
  annals config check`,
  );

await runCommandLine(annals);
