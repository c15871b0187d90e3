import { simulateSeeds, type Half } from '../../../../shared/testing/simulation/simulated-seeds.ts';
import { CatcherFaults } from './catcher-faults.ts';
import { CatcherSimulation } from './catcher-simulation.ts';

export const simulateCatchers = (half: Half): void => {
  const faults = new CatcherFaults();
  simulateSeeds(half, {
    spec: 'catcher.simulation',
    subject: 'an event catcher on a chain and providers of which anything may happen',
    holds: 'stores exactly what the chain has, in its order, and never claims more than is stored',
    failedOnce: [135, 607, 821, 1_207, 1_617],
    violationsOf: (seed) => new CatcherSimulation(seed, faults).run(),
    neverHappened: () => faults.missing,
  });
};
