import { CommanderError, type Command } from 'commander';
import { reasonToEnd } from '../../../shared/errors/reason-to-end.ts';
import { keepFilesPrivate } from '../../../shared/primitives/files/keep-files-private.ts';
import { WrongArguments } from './wrong-arguments.ts';

const DID_NOT_WORK = 1;
const WRONG_ARGUMENTS = 2;

/** Runs a command. If it fails, prints the reason in one line and exits with 1; with 2 if its arguments are wrong. */
export const runCommandLine = async (program: Command, args = process.argv.slice(2)): Promise<void> => {
  keepFilesPrivate();
  process.stdout.off('error', failUnlessReaderGone).on('error', failUnlessReaderGone);
  throwAtEnd(program);
  try {
    await program.parseAsync(withoutHelpOfUnknown(program, args), { from: 'user' });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    // Commander has printed its own errors already.
    if (!(error instanceof CommanderError)) process.stderr.write(`annals: ${reasonToEnd(error)}\n`);
  }
};

/** Whether printing failed because the reader of a pipe has ended. */
export const isReaderGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EPIPE';

/** Ignores output to a reader that has read enough, such as `head`. */
const failUnlessReaderGone = (error: Error): void => {
  if (!isReaderGone(error)) throw error;
};

const throwAtEnd = (command: Command): void => {
  command.exitOverride();
  command.commands.forEach(throwAtEnd);
};

const exitCodeOf = (error: unknown): number => {
  if (error instanceof WrongArguments) return WRONG_ARGUMENTS;
  if (!(error instanceof CommanderError)) return DID_NOT_WORK;
  return error.exitCode === 0 ? 0 : WRONG_ARGUMENTS;
};

/**
 * Commander handles `--help` before it checks the command's name: for a misspelt name it would print the general help,
 * and exit with 0.
 */
const withoutHelpOfUnknown = (program: Command, args: readonly string[]): string[] => {
  let command = program;
  for (const name of args.filter((arg) => !arg.startsWith('-'))) {
    if (command.commands.length === 0 || name === 'help') break;
    const next = command.commands.find((one) => one.name() === name);
    if (!next) return args.filter((arg) => arg !== '--help' && arg !== '-h');
    command = next;
  }
  return [...args];
};
