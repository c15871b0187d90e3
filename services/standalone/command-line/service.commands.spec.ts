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

/** Of the whole, which tells clients where its services are, and of its own chain. */
const OF_NPM_START = ['EVENT_URL', 'LOCAL_CHAIN_PORT', 'STREAM_URL'];

describe('annals <service> --help', () => {
  it('is there for each service', () => {
    expect(serviceCommands().map((command) => command.name())).toEqual([
      ...['account', 'event-catcher', 'relay', 'projector', 'stream'],
    ]);
  });

  it.each(serviceCommands().map((command) => [command.name(), command] as const))(
    'says of %s what it does, what it reads, and how it is started',
    (name, command) => {
      const help = helpOf(command);
      expect(help).toContain(command.description());
      expect(settingsIn(help)).toEqual(expect.arrayContaining(['NODE_ENV', 'HOST', 'METRICS_PORT', 'LOG_LEVEL']));
      expect(help).toMatch(/^ {2}METRICS_PORT +metrics and health/m);
      expect(help).toMatch(new RegExp(`Examples:\\n  .*annals ${name}\\n`));
    },
  );

  it('says of every setting that has an effect who reads it, and that once', () => {
    const lists = serviceCommands().map((command) => settingsIn(helpOf(command)));
    for (const list of lists) expect(new Set(list).size).toBe(list.length);
    const read = new Set(lists.flat());
    const definitions = Object.entries(settingDefinitions);
    const withEffect = definitions.flatMap(([name, { noEffectYet }]) => (noEffectYet === true ? [] : name));
    expect([...read, ...OF_NPM_START].toSorted()).toEqual(withEffect.toSorted());
  });
});
