import { jest } from '@jest/globals';
import { Command } from 'commander';
import { runCommandLine } from '../command-line/run-command-line.ts';

interface Ended {
  /** `undefined` for success. */
  code: unknown;
  stdout: string;
  stderr: string;
}

/** Runs a command of `annals` in this process, on the stores of a folder. */
export const runAnnals = async (DATA_DIR: string, command: Command, ...args: string[]): Promise<Ended> => {
  const environment = jest.replaceProperty(process, 'env', { DATA_DIR, LOG_LEVEL: 'silent' });
  const stdout = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const stderr = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  process.exitCode = undefined;
  const textOf = ({ mock }: typeof stdout) => mock.calls.map(([text]) => String(text)).join('');
  try {
    await runCommandLine(new Command('annals').addCommand(command), [command.name(), ...args]);
    return { code: process.exitCode, stdout: textOf(stdout), stderr: textOf(stderr) };
  } finally {
    process.exitCode = undefined;
    environment.restore();
    stdout.mockRestore();
    stderr.mockRestore();
  }
};
