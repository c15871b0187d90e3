import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import type { SimulatedChainOptions } from '../simulated-chain/simulated-chain.ts';
import type { NodeHabits } from '../simulated-chain/simulated-node.ts';

/** Probabilities of the faults of one seed. */
export interface SimulatedHabits {
  /** A process is killed, at each point where it can be. */
  killed: number;
  node: Partial<NodeHabits>;
  chain: Pick<SimulatedChainOptions, 'fork' | 'losesTransactions' | 'pool' | 'strangers'>;
}

/** Returns about half of the faults, each with a random probability. */
export const randomHabits = (random: SeededRandom): SimulatedHabits => {
  const often = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  return {
    killed: often(0.03),
    node: {
      unavailable: often(0.05),
      failsAfterSend: often(0.2),
      refuses: often(0.2),
      ignoresTrials: often(0.2),
      staleHead: often(0.2),
      staleState: often(0.1),
      sequenceTooHigh: often(0.3),
      receiptMissing: often(0.2),
      receiptStale: often(0.5),
    },
    chain: {
      fork: random.pick(['london', 'prague', 'osaka'] as const) ?? 'osaka',
      losesTransactions: often(0.5),
      pool: {
        ...{ forgets: often(0.2), leavesOut: often(0.2), minesReplaced: often(0.5) },
        changesLeastTip: often(0.2),
      },
      strangers: { bundle: often(0.2), deploy: often(0.05), drain: often(0.05) },
    },
  };
};
