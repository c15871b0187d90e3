export interface Measured {
  what: string;
  perSecond: number;
  count: number;
  seconds: number;
}

/** The distribution of the times that `count` operations took. */
export interface Latency {
  what: string;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  count: number;
}

/** How many times as fast. */
export interface Ratio {
  what: string;
  times: number;
}

/** The processor time that an operation takes, in all threads of a process: others on a busy machine do not change it. */
export interface ProcessorTime {
  what: string;
  msEach: number;
}

export type Report = (measured: Measured | Latency | Ratio | ProcessorTime) => void;

export const latencyOf = (what: string, tookMs: readonly number[]): Latency => {
  const sorted = tookMs.toSorted((left, right) => left - right);
  const at = (share: number) => Math.round((sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN) * 10) / 10;
  return { what, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), count: sorted.length };
};

/** Runs `work` once, which does `count` operations, and returns how many it did in a second. */
export const measure = async (what: string, count: number, work: () => Promise<void>): Promise<Measured> => {
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  return { what, perSecond: Math.round(count / seconds), count, seconds: Math.round(seconds * 100) / 100 };
};
