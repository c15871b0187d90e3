import { describe, expect, it } from '@jest/globals';
import { settingDefinitions } from '../../../shared/config/settings.ts';
import { serviceCommands } from './service.commands.ts';

const helpOf = (command: ReturnType<typeof serviceCommands>[number]): string => {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => Infinity }).outputHelp();
  return help;
};

const settingsIn = (help: string): string[] =>
  Array.from(help.matchAll(/^ {2}([A-Z_]+) +\S/gm), ([, name = '']) => name);

/** Settings that only `npm start` reads: the URLs that it shows to clients, and the port of its local chain. */
const ONLY_NPM_START = ['LOCAL_CHAIN_PORT'];

describe('annals <service> --help', () => {
  it('exists for each service', () => {
    expect(serviceCommands().map((command) => command.name())).toEqual([
      ...['account', 'bundler', 'event-catcher', 'relay', 'projector', 'stream'],
    ]);
  });

  it.each(serviceCommands().map((command) => [command.name(), command] as const))(
    'tells what %s does, which settings it reads, and how it is started',
    (name, command) => {
      const help = helpOf(command);
      expect(help).toContain(command.description());
      expect(settingsIn(help)).toEqual(expect.arrayContaining(['NODE_ENV', 'HOST', 'METRICS_PORT', 'LOG_LEVEL']));
      expect(help).toMatch(/^ {2}METRICS_PORT +metrics and health/m);
      expect(help).toMatch(new RegExp(`Examples:\\n  .*annals ${name}\\n`));
    },
  );

  it('lists every setting for each service that reads it, once', () => {
    const lists = serviceCommands().map((command) => settingsIn(helpOf(command)));
    for (const list of lists) expect(new Set(list).size).toBe(list.length);
    const read = new Set(lists.flat());
    expect([...read, ...ONLY_NPM_START].toSorted()).toEqual(Object.keys(settingDefinitions).toSorted());
  });
});
