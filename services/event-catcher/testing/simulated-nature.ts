import type { SeededRandom } from '../../../shared/testing/seeded-random.ts';
import type { FollowSettings } from '../follow-chain/followed-chain.ts';
import { HONEST, randomEndpoints, withoutWithholding, type EndpointNature, type Habit } from './simulated-habits.ts';
import { mayLeaveOut } from './simulated-oddities.ts';
import { CHAIN_ID } from './simulated-records.ts';

/** What a seed is like. */
export interface CatcherNature {
  settings: FollowSettings;
  /** No fork goes as deep as this. */
  finalDepth: number;
  endpoints: readonly EndpointNature[];
  /** How likely it is that the bloom of a block announces logs that are not there. */
  overstates: number;
  /** Whether what endpoints give of logs is all that there is, so that progress can be true. */
  isTrue: boolean;
  /** How likely it is that a process is killed, at each place where it may be. */
  killed: number;
  losesAnswers: number;
  readStoreAway: number;
  /** That a block is announced. */
  announces: number;
}

const UNTRUE: readonly Habit[] = ['withholding', 'shortening', 'inventing'];
/** Whether an endpoint with this habit gives other logs than there are. */
export const isUntrue = (habit: Habit): boolean => UNTRUE.includes(habit);

export const randomNature = (random: SeededRandom): CatcherNature => {
  const often = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  const isDevelopment = random.chance(0.15);
  const finalDepth = random.pick([1, 3, 5, 12, 64, 64]) ?? 1;
  const overstates = random.chance(0.1) ? random.next() * 0.3 : 0;
  const anyEndpoints = isDevelopment ? [HONEST] : randomEndpoints(random);
  const areBloomsTrue = overstates === 0 && anyEndpoints.every(({ odd }) => odd.hasBlooms);
  const endpoints = areBloomsTrue ? anyEndpoints : anyEndpoints.map(withoutWithholding);
  return {
    settings: {
      chainId: CHAIN_ID,
      confirmations: finalDepth,
      pollMs: 500,
      pollMsMax: isDevelopment ? 2_000 : 15_000,
      isLocal: false,
      isDevelopment,
      // With a low limit, registrations wait for one another.
      rangesMax: random.pick([1, 2, 1_000]) ?? 1,
      verification: { everyMs: random.between(1_000, 15_000), callMs: random.pick([0, 40]) ?? 0 },
    },
    finalDepth,
    endpoints,
    overstates,
    isTrue: endpoints.every(
      ({ likelihoods, lasting, odd }) =>
        !mayLeaveOut(odd) && UNTRUE.every((habit) => (likelihoods[habit] ?? 0) === 0 && !lasting.includes(habit)),
    ),
    killed: often(0.005),
    losesAnswers: often(0.05),
    readStoreAway: often(0.2),
    announces: often(1),
  };
};
