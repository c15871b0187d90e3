import type { Command } from 'commander';
import { SettingsError } from '../../../shared/config/load-settings.ts';
import { CannotStart } from '../../../shared/errors/cannot-start.ts';
import { errorCode } from '../../../shared/errors/error-code.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';

/** Runs a command; what it cannot do it says in one line, with exit code 1. */
export const runCommandLine = async (program: Command): Promise<void> => {
  try {
    await program.parseAsync();
  } catch (error) {
    process.stderr.write(`annals: ${reasonOf(error)}\n`);
    process.exitCode = 1;
  }
};

/** A line where the reason is known, everything where it is not. */
const reasonOf = (error: unknown): string => {
  if (error instanceof Refusal) return error.detail;
  if (error instanceof SettingsError || error instanceof CannotStart) return error.message;
  if (!(error instanceof Error)) return String(error);
  return errorCode(error) === undefined ? (error.stack ?? error.message) : error.message;
};
