import { describe, expect, it } from '@jest/globals';

/** `SEED=17` runs that one alone, `SEEDS=100` as many. */
const [SEED, SEEDS] = [process.env['SEED'], Number(process.env['SEEDS'] ?? 10)];
/** Of one seed, however busy the machine is; and of the first ones, whose code is not compiled yet. */
const PATIENCE_MS = 30_000;
const FIRST_PATIENCE_MS = 60_000;
/** So many seeds of a half have every fault. */
const ENOUGH_FOR_ALL = 500;

export type Half = 'odd' | 'even';

interface SimulatedSeeds {
  /** What the specs of both halves are called: `bundler.simulation`. */
  spec: string;
  /** What is simulated, and what must be so after each seed, as titles. */
  subject: string;
  holds: string;
  /** Seeds that failed once. They come first, also where they are more than `SEEDS`. */
  failedOnce?: readonly number[];
  /** Runs one seed. @returns what is wrong after it, as sentences */
  violationsOf: (seed: number) => Promise<string[]>;
  /** What never happened in all seeds, and has to. */
  neverHappened: () => string[];
}

/** Simulates every other seed: each half is a spec of its own, so that both cores have one. */
export const simulateSeeds = (half: Half, simulated: SimulatedSeeds): void => {
  const { spec, subject, holds, failedOnce = [], violationsOf, neverHappened } = simulated;
  const all = new Set([...failedOnce, ...Array.from({ length: SEEDS }, (_, index) => index + 1)]);
  const seeds = SEED === undefined ? [...all].filter((seed) => (seed % 2 === 1) === (half === 'odd')) : [Number(SEED)];
  describe(subject, () => {
    it(
      holds,
      async () => {
        expect(await failuresOf(seeds, violationsOf, `npm test -- ${spec}.${half}`)).toBe('');
        if (seeds.length >= ENOUGH_FOR_ALL) expect({ neverHappened: neverHappened() }).toEqual({ neverHappened: [] });
      },
      patienceMs(seeds),
    );
  });
};

/** Simulates the first seeds of something that is one of several kinds, in one test. */
export const simulateKind = (
  { spec, title, count }: { spec: string; title: string; count: number },
  violationsOf: (seed: number) => Promise<string[]>,
): void => {
  const seeds = SEED === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(SEED)];
  const command = `npm test -- ${spec} -t '${title}'`;
  it(title, async () => expect(await failuresOf(seeds, violationsOf, command)).toBe(''), patienceMs(seeds));
};

const patienceMs = (seeds: readonly number[]): number => FIRST_PATIENCE_MS + seeds.length * PATIENCE_MS;

/**
 * Says of each seed that failed why, and how it is run again. Begins no seed once jest's patience is nearly over: what went on after
 * that would slow down the other specs of the process.
 */
const failuresOf = async (
  seeds: readonly number[],
  violationsOf: SimulatedSeeds['violationsOf'],
  command: string,
): Promise<string> => {
  const failed: string[] = [];
  const endsAt = performance.now() + FIRST_PATIENCE_MS / 2 + seeds.length * PATIENCE_MS;
  for (const seed of seeds) {
    if (performance.now() > endsAt) {
      failed.push(`SEED=${String(seed)} and all after it were not run: the seeds before it took too long`);
      break;
    }
    const violations = await violationsOf(seed).catch((error: unknown) => [textOf(error)]);
    if (violations.length > 0) failed.push(`SEED=${String(seed)} ${command}\n  ${violations.join('\n  ')}`);
  }
  return failed.join('\n');
};

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
