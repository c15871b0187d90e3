import { executorEvents } from '../../../../schemas/events/onchain/executor-events.ts';
import { nonceEvents } from '../../../../schemas/events/onchain/nonce-events.ts';
import { sponsorshipEvents } from '../../../../schemas/events/onchain/sponsorship-events.ts';
import { transactionEvents } from '../../../../schemas/events/onchain/transaction-events.ts';
import { simulateSeeds, type Half } from '../../../../shared/testing/simulation/simulated-seeds.ts';
import { BundlerFaults } from '../simulated-chain/bundler-faults.ts';
import { violationsAfter } from './bundler-invariants.ts';
import { BundlerSimulation } from './bundler-simulation.ts';

const EVENTS = Object.keys({ ...transactionEvents, ...sponsorshipEvents, ...executorEvents, ...nonceEvents });

export const simulateBundlers = (half: Half): void => {
  const faults = new BundlerFaults();
  const stored = new Set<string>();
  simulateSeeds(half, {
    spec: 'bundler.simulation',
    subject: 'a bundler on a chain with faults',
    holds: 'executes each operation at most once, records its outcome, and accounts for every wei and nonce',
    failedOnce: [1_002],
    violationsOf: async (seed) => {
      const simulation = new BundlerSimulation(seed, faults);
      await simulation.run();
      const { events } = await simulation.store.readAll(0, undefined, Infinity);
      for (const { type } of events) stored.add(type);
      return violationsAfter(simulation);
    },
    neverHappened: () => [...faults.missing, ...EVENTS.filter((type) => !stored.has(type))],
  });
};
