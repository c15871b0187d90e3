import { Command } from 'commander';
import { appCommand } from './app.commands.ts';
import { auditCommand } from './audit/audit.commands.ts';
import { vaultCommand } from './vault.commands.ts';
import { watchCommand } from './watch.commands.ts';
import { chainCommand } from './chain.commands.ts';
import { configCommand } from './config.commands.ts';
import { keysCommand } from './keys.commands.ts';
import { serviceCommands } from './service.commands.ts';
import { sessionsCommand } from './sessions.commands.ts';

/** `annals`, with every command. */
export const annalsCommand = (): Command => {
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
  return annals;
};
