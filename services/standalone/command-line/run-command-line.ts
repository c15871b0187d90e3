import type { Command } from 'commander';
import { SettingsError } from '../../../shared/config/load-settings.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** Runs a command; what it cannot do it says in one line, with exit code 1. */
export const runCommandLine = async (program: Command): Promise<void> => {
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof SettingsError || error instanceof Refusal)) throw error;
    process.stderr.write(`annals: ${error instanceof Refusal ? error.detail : error.message}\n`);
    process.exitCode = 1;
  }
};
