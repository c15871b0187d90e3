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

/** The processor time of an operation, in all threads of a process. Independent of other processes on the machine. */
export interface ProcessorTime {
  what: string;
  msEach: number;
}

/** The memory of a process, over equally large parts of its work. */
export interface Memory {
  what: string;
  /** Memory in the middle of each part. */
  mb: number[];
  mostMb: number;
}

/** Bytes stored per operation. */
export interface Size {
  what: string;
  bytesEach: number;
}

/** The gain of those who sent bundles, all together. */
export interface Gain {
  what: string;
  gainedWei: string;
}

/** Accepted operations that are in no block. */
export interface Missing {
  what: string;
  missing: number;
}

/** Whether times of two kinds differ by more than noise. */
export interface Comparison {
  what: string;
  /** Welch's t. */
  t: number;
  /** Whether the time reveals the kind. */
  tells: boolean;
  knownMs: number;
  unknownMs: number;
  count: number;
}

/** A figure beside its aim. */
export interface Aimed {
  what: string;
  value: number;
  unit: string;
  /** In words, with the size that it is meant for. */
  aim: string;
  /** Whether the value, of the size that was measured, is what it is to be. */
  isMet: boolean;
}

export type Figure = Measured | Latency | Ratio | ProcessorTime | Memory | Size | Comparison | Gain | Missing | Aimed;
export type Report = (measured: Figure) => void;

/** The usual threshold for timing leaks: noise alone exceeds it once in some hundred thousand comparisons. */
const T_MAX = 4.5;

/** Compares times by their means; the medians are for the reader. */
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

/** @param of the size for which the limit is meant */
export const aimed = (
  { what, value, unit }: Pick<Aimed, 'what' | 'value' | 'unit'>,
  limit: ({ atMost: number } | { atLeast: number }) & { of: string },
): Aimed => {
  const [sign, number] = 'atMost' in limit ? ['≤', limit.atMost] : ['≥', limit.atLeast];
  const isMet = 'atMost' in limit ? value <= number : value >= number;
  const aim = `${sign} ${number.toLocaleString('en')} ${unit}, ${limit.of}`;
  return { what, value: Math.round(value * 100) / 100, unit, aim, isMet };
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

/** Runs `work` once, which does `count` operations, and returns the operations per second. */
export const measure = async (what: string, count: number, work: () => Promise<void>): Promise<Measured> => {
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  return { what, perSecond: Math.round(count / seconds), count, seconds: Math.round(seconds * 100) / 100 };
};
