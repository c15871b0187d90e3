import { Command } from 'commander';
import { serviceCommands } from './service.commands.ts';

/** Each is loaded when it is called: all of them take a second. */
const groups = new Map<string, () => Promise<Command>>(
  Object.entries({
    app: async () => (await import('./apps/app.commands.ts')).appCommand(),
    chain: async () => (await import('./chains/chain.commands.ts')).chainCommand(),
    keys: async () => (await import('./keys.commands.ts')).keysCommand(),
    sessions: async () => (await import('./sessions.commands.ts')).sessionsCommand(),
    watch: async () => (await import('./watches/watch.commands.ts')).watchCommand(),
    replay: async () => (await import('./topics/replay.command.ts')).replayCommand(),
    'stream-check': async () => (await import('./stream/stream-check.command.ts')).streamCheckCommand(),
    backup: async () => (await import('./backup/backup.commands.ts')).backupCommand(),
    vault: async () => (await import('./vault/vault.commands.ts')).vaultCommand(),
    audit: async () => (await import('./audit/audit.commands.ts')).auditCommand(),
    projections: async () => (await import('./projections/projections.commands.ts')).projectionsCommand(),
    config: async () => (await import('./config.commands.ts')).configCommand(),
  }),
);

/** Returns `annals` with the services and one group of commands; with every command if there is no group of this name. */
export const annalsCommand = async (group = ''): Promise<Command> => {
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
  annals backup create /backups/annals                         what must not be lost, for a safe place
  annals audit verify history.ndjson --jwks jwks.json
  annals projections verify                                    whether read models are what the events make of them
  annals config check`,
  );
  const open = groups.get(group);
  const opened = await Promise.all((open ? [open] : [...groups.values()]).map((one) => one()));
  for (const command of [...serviceCommands(), ...opened]) annals.addCommand(command);
  return annals;
};
