import { describe } from '@jest/globals';
import { simulateKind } from '../../../../shared/testing/simulation/simulated-seeds.ts';
import { CatcherFaults } from './catcher-faults.ts';
import { CatcherSimulation } from './catcher-simulation.ts';
import { ODD_KINDS, type OddKind } from '../simulated-chain/odd-nodes.ts';
import { oddNature } from '../simulated-chain/simulated-nature.ts';

/**
 * Seeds per kind of node. `SEEDS=1000` runs that many. The run of all specs sets it for other simulations and uses its
 * own number here.
 */
const COUNT = Number(process.env['SEEDS_EACH'] ?? process.env['SEEDS'] ?? 2);

/** Simulates a node of each kind, as the only provider or beside an honest one. */
export const simulateOddNodes = (spec: string, providers: 1 | 2): void => {
  describe('an event catcher stores what the chain has, or says what is missing and why, where a node', () => {
    for (const [title, kind] of Object.entries<OddKind>(ODD_KINDS))
      simulateKind({ spec, title, count: COUNT }, (seed) =>
        new CatcherSimulation(seed, new CatcherFaults(), (random) => oddNature(random, kind, providers)).run(),
      );
  });
};
