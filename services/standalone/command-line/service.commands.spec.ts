import { describe, expect, it } from '@jest/globals';
import { serviceCommands } from './service.commands.ts';

const helpOf = (command: ReturnType<typeof serviceCommands>[number]): string => {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => Infinity }).outputHelp();
  return help;
};

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
      expect(help).toMatch(/^ {2}METRICS_PORT +metrics and health/m);
      expect(help).toMatch(new RegExp(`Examples:\\n  .*annals ${name}\\n`));
    },
  );
});
