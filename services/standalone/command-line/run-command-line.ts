import type { Command } from 'commander';
import { reasonToEnd } from '../../../shared/errors/reason-to-end.ts';
import { keepFilesPrivate } from '../../../shared/primitives/keep-files-private.ts';

/** Runs a command. If it fails, it prints the reason in one line and exits with code 1. */
export const runCommandLine = async (program: Command): Promise<void> => {
  keepFilesPrivate();
  try {
    await program.parseAsync();
  } catch (error) {
    process.stderr.write(`annals: ${reasonToEnd(error)}\n`);
    process.exitCode = 1;
  }
};
