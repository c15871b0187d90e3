/** Time as an argument: Unix milliseconds. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const toIso = (unixMs: number): string => new Date(unixMs).toISOString();
