/** Time as an argument. */
export interface Clock {
  /** Unix milliseconds. It jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds that only grow, at the pace of time: for durations within this process. */
  elapsed(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };

export const toIso = (unixMs: number): string => new Date(unixMs).toISOString();
