import { describe, expect, it } from '@jest/globals';
import { executorEvents } from '../../../schemas/events/executor-events.ts';
import { nonceEvents } from '../../../schemas/events/nonce-events.ts';
import { sponsorshipEvents } from '../../../schemas/events/sponsorship-events.ts';
import { transactionEvents } from '../../../schemas/events/transaction-events.ts';
import { violationsAfter } from './bundler-invariants.ts';
import { BundlerSimulation } from './bundler-simulation.ts';
import { InjectedFaults } from './injected-faults.ts';

/** `SEED=17` runs that one alone, `SEEDS=100` as many. */
const [SEED, SEEDS] = [process.env['SEED'], Number(process.env['SEEDS'] ?? 2_000)];
/** Of one seed, on a busy machine. */
const PATIENCE_MS = 1_000;
/** So many seeds have every fault. */
const ENOUGH_FOR_ALL = 1_000;
const EVENTS = Object.keys({ ...transactionEvents, ...sponsorshipEvents, ...executorEvents, ...nonceEvents });

/** Simulates every other seed: each half is a spec of its own, so that both cores have one. */
export const simulateSeeds = (half: 'odd' | 'even'): void => {
  const all = Array.from({ length: SEEDS }, (_, index) => index + 1);
  const seeds = SEED === undefined ? all.filter((seed) => (seed % 2 === 1) === (half === 'odd')) : [Number(SEED)];
  describe('a bundler on a chain of which anything may happen', () => {
    it(
      'executes each operation at most once, says of each what became of it, and accounts for every wei and nonce',
      async () => {
        const failed: string[] = [];
        const faults = new InjectedFaults();
        const stored = new Set<string>();
        for (const seed of seeds) {
          const simulation = new BundlerSimulation(seed, faults);
          const violations = await violationsOf(simulation);
          const { events } = await simulation.store.readAll(0, undefined, Infinity);
          for (const { type } of events) stored.add(type);
          const again = `SEED=${String(seed)} npm test -- bundler.simulation.${half}`;
          if (violations.length > 0) failed.push(`${again}\n  ${violations.join('\n  ')}`);
        }
        expect(failed.join('\n')).toBe('');
        if (seeds.length < ENOUGH_FOR_ALL) return;
        const neverHappened = [...faults.missing, ...EVENTS.filter((type) => !stored.has(type))];
        expect({ neverHappened }).toEqual({ neverHappened: [] });
      },
      seeds.length * PATIENCE_MS,
    );
  });
};

const violationsOf = async (simulation: BundlerSimulation): Promise<string[]> => {
  try {
    await simulation.run();
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  }
  return violationsAfter(simulation);
};
