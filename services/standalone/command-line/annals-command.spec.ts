import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { annalsCommand } from './annals-command.ts';

/** Every command below it that does something, by the words that are typed. */
const leaves = (command: Command, words: string): [string, Command][] =>
  command.commands.length === 0
    ? [[words, command]]
    : command.commands.flatMap((one) => leaves(one, `${words} ${one.name()}`));

const helpOf = (command: Command): string => {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => Infinity }).outputHelp();
  return help;
};

describe('the help of', () => {
  const commands = leaves(annalsCommand(), 'annals');

  it('as many commands as there are', () => {
    expect(commands.length).toBeGreaterThan(25);
  });

  it.each(commands)('%s says what it does, with an example', (words, command) => {
    const help = helpOf(command);
    expect(help).toContain(command.description());
    expect(help).toMatch(/^Examples?:$/m);
    expect(help.split(/^Examples?:$/m)[1]).toContain(words);
  });
});
