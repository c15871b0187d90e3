import { describe, expect, it } from '@jest/globals';
import { violationsAfter } from './bundler-invariants.ts';
import { BundlerSimulation } from './bundler-simulation.ts';

/** `SEED=17` runs that one alone, `SEEDS=100` as many. */
const [SEED, SEEDS] = [process.env['SEED'], Number(process.env['SEEDS'] ?? 2_000)];
/** Of one seed, on a busy machine. */
const PATIENCE_MS = 1_000;

/** Simulates every other seed: each half is a spec of its own, so that both cores have one. */
export const simulateSeeds = (half: 'odd' | 'even'): void => {
  const all = Array.from({ length: SEEDS }, (_, index) => index + 1);
  const seeds = SEED === undefined ? all.filter((seed) => (seed % 2 === 1) === (half === 'odd')) : [Number(SEED)];
  describe('a bundler on a chain of which anything may happen', () => {
    it(
      'executes each operation at most once, says of each what became of it, and accounts for every wei and nonce',
      async () => {
        const failed: string[] = [];
        for (const seed of seeds) {
          const violations = await simulate(seed);
          const again = `SEED=${String(seed)} npm test -- bundler.simulation.${half}`;
          if (violations.length > 0) failed.push(`${again}\n  ${violations.join('\n  ')}`);
        }
        expect(failed.join('\n')).toBe('');
      },
      seeds.length * PATIENCE_MS,
    );
  });
};

const simulate = async (seed: number): Promise<string[]> => {
  const simulation = new BundlerSimulation(seed);
  try {
    await simulation.run();
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
  return violationsAfter(simulation);
};
