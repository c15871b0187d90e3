import type { Command } from 'commander';
import { reasonToEnd } from '../../../shared/errors/reason-to-end.ts';
import { keepFilesPrivate } from '../../../shared/primitives/keep-files-private.ts';

/** Runs a command. If it fails, it prints the reason in one line and exits with code 1. */
export const runCommandLine = async (program: Command): Promise<void> => {
  keepFilesPrivate();
  process.stdout.off('error', failUnlessReaderGone).on('error', failUnlessReaderGone);
  try {
    await program.parseAsync();
  } catch (error) {
    process.stderr.write(`annals: ${reasonToEnd(error)}\n`);
    process.exitCode = 1;
  }
};

/** Whether printing failed because the reader of a pipe has ended. */
export const isReaderGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EPIPE';

/** What is printed to a reader that has read enough, as `head` has, is lost, and is no failure. */
const failUnlessReaderGone = (error: Error): void => {
  if (!isReaderGone(error)) throw error;
};
