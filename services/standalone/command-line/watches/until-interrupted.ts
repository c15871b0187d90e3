import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs what ends when it is interrupted, as by Ctrl-C, and sets the exit code that a shell expects then, or when nobody reads
 * any more what it prints.
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
