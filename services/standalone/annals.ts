import { Command } from 'commander';
import { appCommand } from './command-line/app.commands.ts';
import { auditCommand } from './command-line/audit/audit.commands.ts';
import { vaultCommand } from './command-line/vault.commands.ts';
import { watchCommand } from './command-line/watch.commands.ts';
import { chainCommand } from './command-line/chain.commands.ts';
import { configCommand } from './command-line/config.commands.ts';
import { keysCommand } from './command-line/keys.commands.ts';
import { runCommandLine } from './command-line/run-command-line.ts';
import { serviceCommands } from './command-line/service.commands.ts';
import { sessionsCommand } from './command-line/sessions.commands.ts';

const annals = new Command('annals').description('accounts and chain events, event-sourced').addHelpText(
  'after',
  `
Examples:
  npm start                                                    everything, in one process
  annals relay                                                 one service, in a process of its own
  annals app create --name Shop --origin https://shop.example  an app that can log in at once
  annals app list --json
  annals chain status --chain 2484
  annals keys rotate
  annals vault backup vault.ndjson                             what must not be lost, for a safe place
  annals audit verify history.ndjson --jwks jwks.json
  annals config check`,
);
for (const command of [
  ...serviceCommands(),
  appCommand(),
  chainCommand(),
  keysCommand(),
  sessionsCommand(),
  watchCommand(),
  vaultCommand(),
  auditCommand(),
  configCommand(),
])
  annals.addCommand(command);

await runCommandLine(annals);
