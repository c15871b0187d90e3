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

/** The memory of a process, over parts of what it does that are equally large. */
export interface Memory {
  what: string;
  /** What it has in the middle of each part. */
  mb: number[];
  mostMb: number;
}

/** How much is stored for an operation. */
export interface Size {
  what: string;
  bytesEach: number;
}

/** What those who sent bundles have more than before, all together. */
export interface Gain {
  what: string;
  gainedWei: string;
}

/** Operations that were accepted, and are in no block. */
export interface Missing {
  what: string;
  missing: number;
}

/** Whether times of two kinds differ by more than noise. */
export interface Comparison {
  what: string;
  /** Welch's t. */
  t: number;
  /** Whether the time tells which kind it was. */
  tells: boolean;
  knownMs: number;
  unknownMs: number;
  count: number;
}

export type Figure = Measured | Latency | Ratio | ProcessorTime | Memory | Size | Comparison | Gain | Missing;
export type Report = (measured: Figure) => void;

/** What is usual for leaks by time: noise alone is beyond it once in some hundred thousand comparisons. */
const T_MAX = 4.5;

/** Compares times by their means; the medians are for who reads it. */
export const compareTimes = (
  what: string,
  { known, unknown }: { known: readonly number[]; unknown: readonly number[] },
): Comparison => {
  const t = welch(known, unknown);
  const [knownMs, unknownMs] = [medianOf(known), medianOf(unknown)];
  return {
    what,
    t: Math.round(t * 100) / 100,
    tells: !(Math.abs(t) < T_MAX),
    knownMs,
    unknownMs,
    count: known.length + unknown.length,
  };
};

const welch = (one: readonly number[], other: readonly number[]): number => {
  const [left, right] = [momentsOf(one), momentsOf(other)];
  return (left.mean - right.mean) / Math.sqrt(left.variance / one.length + right.variance / other.length);
};

const momentsOf = (values: readonly number[]): { mean: number; variance: number } => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, variance: squares / (values.length - 1) };
};

const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((left, right) => left - right);
  return Math.round((sorted[Math.floor(sorted.length / 2)] ?? Number.NaN) * 1_000) / 1_000;
};

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
