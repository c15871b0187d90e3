/** Time as an argument. */
export interface Clock {
  /** Unix milliseconds. It jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds that only grow, at the pace of time: for durations within this process. */
  elapsed(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };

export const toIso = (unixMs: number): string => {
  if (unixMs !== written.unixMs) written = { unixMs, iso: new Date(unixMs).toISOString() };
  return written.iso;
};

/** The last time that was written: what is stored together has one time. */
let written = { unixMs: Number.NaN, iso: '' };
