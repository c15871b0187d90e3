import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs what ends when it is interrupted, as by Ctrl-C, and sets the exit code that a shell expects then. */
export const untilInterrupted = async <Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> => {
  const interruption = new AbortController();
  const interrupt = (name: NodeJS.Signals): void => {
    process.exitCode = 128 + constants.signals[name];
    interruption.abort(new Error(`interrupted by ${name}`));
  };
  for (const name of SIGNALS) process.on(name, interrupt);
  try {
    return await work(interruption.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt);
  }
};
