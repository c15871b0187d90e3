/** Time, passed in as an argument. */
export interface Clock {
  /** Unix milliseconds. Jumps when the machine's clock is set. */
  now(): number;
  /** Milliseconds of a monotonic clock, for durations within this process. */
  elapsed(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };

/**
 * How far the clocks of processes may differ: an event is not later by more than this than one that follows it in the
 * store. Clocks that are kept by NTP differ by milliseconds, and by seconds after a machine was asleep. Whoever looks for
 * a time reads this much beyond it, so it is not longer: a backfill stores some thousand events in a second.
 */
export const CLOCKS_DIFFER_MS = 10_000;

export const toIso = (unixMs: number): string => {
  if (unixMs !== written.unixMs) written = { unixMs, iso: new Date(unixMs).toISOString() };
  return written.iso;
};

/** The last time that was formatted: events that are stored together share one time. */
let written = { unixMs: Number.NaN, iso: '' };
