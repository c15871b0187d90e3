import { randomInt } from 'node:crypto';
import { SeededRandom } from '../../../shared/testing/simulation/seeded-random.ts';

const SEEDS = 2 ** 31;

/**
 * Returns the random numbers of a spec, which decide what is killed and when. Each run has another seed, and prints it;
 * `FAULT_SEED=7 npm run test:all -- faults` draws the same again.
 */
export const faultRandom = (): SeededRandom => {
  const seed = Number(process.env['FAULT_SEED'] ?? randomInt(SEEDS));
  if (!Number.isInteger(seed)) throw new Error('FAULT_SEED must be a whole number');
  process.stderr.write(`FAULT_SEED=${String(seed)}\n`);
  return new SeededRandom(seed);
};

/** Returns random numbers of its own for what goes on beside the test, so that neither changes what the other draws. */
export const ownRandom = (random: SeededRandom): SeededRandom => new SeededRandom(random.between(0, SEEDS - 1));
