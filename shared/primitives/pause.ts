import { setTimeout } from 'node:timers/promises';

/** Waits for that time, or until the signal aborts: then it returns early, and does not throw. */
export const pause = async (timeMs: number, signal?: AbortSignal): Promise<void> => {
  // Rejects only because the signal aborted.
  await setTimeout(timeMs, undefined, signal && { signal }).catch(() => undefined);
};
