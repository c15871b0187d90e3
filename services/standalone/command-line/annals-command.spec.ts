import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { annalsCommand } from './annals-command.ts';

/** Returns every command without subcommands, by the words to type. */
const leaves = (command: Command, words: string): [string, Command][] =>
  command.commands.length === 0
    ? [[words, command]]
    : command.commands.flatMap((one) => leaves(one, `${words} ${one.name()}`));

const helpOf = (command: Command): string => {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text), getOutHelpWidth: () => Infinity }).outputHelp();
  return help;
};

const all = await annalsCommand();

it.each(all.commands.map((command) => command.name()))('%s is there where it alone is loaded', async (name) => {
  const { commands } = await annalsCommand(name);
  expect(commands.map((command) => command.name())).toContain(name);
});

describe('the help of', () => {
  const commands = leaves(all, 'annals');

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
