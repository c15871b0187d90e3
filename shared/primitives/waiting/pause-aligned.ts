import { pause } from './pause.ts';

/**
 * Waits for a multiple of an interval on this process's clock that is at least half an interval ahead. Loops that pause
 * in this way wake the process together, instead of one by one.
 */
export const pauseAligned = (everyMs: number, signal?: AbortSignal): Promise<void> => {
  const leftMs = everyMs - (performance.now() % everyMs);
  return pause(leftMs < everyMs / 2 ? leftMs + everyMs : leftMs, signal);
};
