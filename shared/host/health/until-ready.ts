import { pause } from '../../primitives/waiting/pause.ts';
import type { HealthReport } from './health.ts';
import type { Logger } from '../logger.ts';

const READY_POLL_MS = 100;
/** How often a start logs what it is waiting for. */
const WAITING_EVERY_MS = 5_000;

export interface WaitOptions {
  logger: Logger;
  /** Ends the wait by throwing the signal's reason. */
  signal: AbortSignal;
  /** Default: no limit. */
  patienceMs?: number;
}

/** Waits until all these parts are ready. @returns `false` if the wait took longer than `patienceMs` */
export const untilReady = async (
  parts: readonly { health: () => Promise<HealthReport> }[],
  { logger, signal, patienceMs = Infinity }: WaitOptions,
): Promise<boolean> => {
  const startedAt = performance.now();
  let loggedAt = startedAt;
  for (;;) {
    const reports = await Promise.all(parts.map(({ health }) => health()));
    const notReady = reports.filter(({ isReady }) => !isReady);
    if (notReady.length === 0) return true;
    const now = performance.now();
    if (now - startedAt >= patienceMs) return false;
    if (now - loggedAt >= WAITING_EVERY_MS) {
      loggedAt = now;
      for (const { dependencies, conditions } of notReady)
        logger.info({ ...dependencies, ...conditions }, 'not ready yet');
    }
    await pause(READY_POLL_MS, signal);
    signal.throwIfAborted();
  }
};
