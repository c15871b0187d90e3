import { describe, expect, it } from '@jest/globals';

/** `SEED=17` runs that one alone, `SEEDS=100` as many. */
const [SEED, SEEDS] = [process.env['SEED'], Number(process.env['SEEDS'] ?? 100)];
/** Of one seed, on a busy machine; and of the first ones, whose code is not compiled yet. */
const PATIENCE_MS = 2_000;
const FIRST_PATIENCE_MS = 30_000;
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
        const failed: string[] = [];
        for (const seed of seeds) {
          const violations = await violationsOf(seed).catch((error: unknown) => [textOf(error)]);
          const again = `SEED=${String(seed)} npm test -- ${spec}.${half}`;
          if (violations.length > 0) failed.push(`${again}\n  ${violations.join('\n  ')}`);
        }
        expect(failed.join('\n')).toBe('');
        if (seeds.length >= ENOUGH_FOR_ALL) expect({ neverHappened: neverHappened() }).toEqual({ neverHappened: [] });
      },
      FIRST_PATIENCE_MS + seeds.length * PATIENCE_MS,
    );
  });
};

const textOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
