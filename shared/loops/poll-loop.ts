import type { Logger } from 'pino';
import { pauseAligned } from '../primitives/waiting/pause-aligned.ts';
import { SupervisedLoop } from './supervised-loop.ts';

/** A supervised loop that does `work` again and again, with a pause after each time. */
export const pollLoop = (
  name: string,
  logger: Logger,
  everyMs: number,
  work: (signal: AbortSignal) => Promise<void>,
): SupervisedLoop =>
  new SupervisedLoop(name, logger, async (signal, reportRunning) => {
    while (!signal.aborted) {
      await work(signal);
      reportRunning();
      await pauseAligned(everyMs, signal);
    }
  });
