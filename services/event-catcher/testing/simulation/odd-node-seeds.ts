import { describe } from '@jest/globals';
import { simulateKind } from '../../../shared/testing/simulated-seeds.ts';
import { CatcherFaults } from './catcher-faults.ts';
import { CatcherSimulation } from './catcher-simulation.ts';
import { ODD_KINDS, type OddKind } from './odd-nodes.ts';
import { oddNature } from './simulated-nature.ts';

/** Of each kind. `SEEDS=1000` runs as many; the run of all specs, which sets it for other simulations, has a number of its own. */
const COUNT = Number(process.env['SEEDS_EACH'] ?? process.env['SEEDS'] ?? 10);

/** Simulates a node of each kind, as the only provider or beside an honest one. */
export const simulateOddNodes = (spec: string, providers: 1 | 2): void => {
  describe('an event catcher stores what the chain has, or says what is missing and why, where a node', () => {
    for (const [title, kind] of Object.entries<OddKind>(ODD_KINDS))
      simulateKind({ spec, title, count: COUNT }, (seed) =>
        new CatcherSimulation(seed, new CatcherFaults(), (random) => oddNature(random, kind, providers)).run(),
      );
  });
};
