import { setTimeout } from 'node:timers/promises';

/** Waits so long, or until the signal aborts: then it returns early, and does not throw. */
export const pause = async (timeMs: number, signal?: AbortSignal): Promise<void> => {
  // Rejects for no other reason than that the signal aborted.
  await setTimeout(timeMs, undefined, signal && { signal }).catch(() => undefined);
};
