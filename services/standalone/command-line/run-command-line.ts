import type { Command } from 'commander';
import { reasonToEnd } from '../../../shared/errors/reason-to-end.ts';

/** Runs a command. If it fails, it prints the reason in one line and exits with code 1. */
export const runCommandLine = async (program: Command): Promise<void> => {
  try {
    await program.parseAsync();
  } catch (error) {
    process.stderr.write(`annals: ${reasonToEnd(error)}\n`);
    process.exitCode = 1;
  }
};
