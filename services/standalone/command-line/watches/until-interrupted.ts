import { constants } from 'node:os';
import { isAborted } from '../../../../shared/primitives/waiting/is-aborted.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs work that ends on an interruption, such as Ctrl-C. Sets the exit code that a shell expects then, and when the
 * reader of its output has gone.
 */
export const untilInterrupted = async <Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> => {
  const interruption = new AbortController();
  const interrupt = (name: NodeJS.Signals): void => {
    process.exitCode = 128 + constants.signals[name];
    interruption.abort(new Error(`interrupted by ${name}`));
  };
  const stop = (): void => {
    interruption.abort(new Error('nobody reads what is printed'));
  };
  for (const name of SIGNALS) process.on(name, interrupt);
  process.stdout.on('error', stop);
  try {
    return await work(interruption.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt);
    process.stdout.off('error', stop);
  }
};

/** As `untilInterrupted`, for work that throws once the signal aborts: returns `undefined` then. */
export const unlessInterrupted = <Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> =>
  untilInterrupted(async (signal) => {
    try {
      return await work(signal);
    } catch (error) {
      if (!isAborted(signal)) throw error;
      return undefined;
    }
  });
