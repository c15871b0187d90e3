import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import type { FollowSettings } from '../../follow-chain/followed-chain.ts';
import {
  HONEST,
  randomEndpoints,
  withoutHistory,
  withoutHabits,
  type EndpointNature,
  type Habit,
} from './simulated-habits.ts';
import type { OddKind } from './odd-nodes.ts';
import { mayLeaveOut } from './simulated-oddities.ts';
import { CHAIN_ID } from '../simulation/simulated-records.ts';

/** All blocks before this one are final, and on the chain for ever. */
export const PRUNED_MOST = 25;

/** The nature of a seed. */
export interface CatcherNature {
  settings: FollowSettings;
  /** No fork goes as deep as this. */
  finalDepth: number;
  endpoints: readonly EndpointNature[];
  /** Probability that the bloom of a block announces logs that do not exist. */
  overstates: number;
  /** Whether endpoints return all logs, so that progress can be true. */
  isTrue: boolean;
  /** Whether no record ever needs correcting, because nothing else goes wrong either. */
  isExact: boolean;
  /** Whether blocks may be missing, if the status says why. */
  mayBeMissing: boolean;
  /** Probability that a process is killed, at each place where that can happen. */
  killed: number;
  losesAnswers: number;
  readStoreAway: number;
  /** Probability that a block is announced. */
  announces: number;
  /** The most logs of a block that has some. */
  logsMost: number;
  /** In which round the chain gives up blocks that it called final, and how many of them. */
  givesUp?: { round: number; blocks: number };
}

const UNTRUE: readonly Habit[] = ['withholding', 'shortening', 'inventing'];
/** Whether an endpoint with this fault returns other logs than there are. */
export const isUntrue = (habit: Habit): boolean => UNTRUE.includes(habit);

export const randomNature = (random: SeededRandom): CatcherNature => {
  const often = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  const isDevelopment = random.chance(0.15);
  const finalDepth = random.pick([1, 3, 5, 12, 64, 64]) ?? 1;
  const overstates = random.chance(0.1) ? random.next() * 0.3 : 0;
  const found = isDevelopment ? [HONEST] : randomEndpoints(random);
  const anyEndpoints = !isDevelopment && random.chance(0.2) ? withoutHistory(random, found, PRUNED_MOST) : found;
  const areBloomsTrue = overstates === 0 && anyEndpoints.every(({ odd }) => odd.hasBlooms);
  const undetected: Habit[] = [
    ...(areBloomsTrue ? [] : ['withholding' as const]),
    ...(overstates > 0 ? ['inventing' as const] : []),
  ];
  const endpoints = anyEndpoints.map((endpoint) => withoutHabits(endpoint, undetected));
  return {
    settings: {
      chainId: CHAIN_ID,
      finality: 'finalized',
      confirmations: finalDepth,
      pollMs: 500,
      pollMsMax: isDevelopment ? 2_000 : 15_000,
      isLocal: false,
      isDevelopment,
      // With a low limit, registrations wait for each other.
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
    isExact: false,
    mayBeMissing: false,
    killed: often(0.005),
    losesAnswers: often(0.05),
    readStoreAway: often(0.2),
    announces: often(1),
    logsMost: 4,
    ...(!isDevelopment &&
      random.chance(0.1) && { givesUp: { round: random.between(1, 12), blocks: random.between(1, 5) } }),
  };
};

/** Only one provider, or its chain, is odd: the only provider, or one beside an honest one. */
export const oddNature = (random: SeededRandom, kind: OddKind, providers: 1 | 2): CatcherNature => {
  const finalDepth = random.pick([1, 3, 12, 64]) ?? 1;
  const odd = { ...HONEST, latencyMs: random.between(1, 100), ...(kind.of && { answers: kind.of(random) }) };
  const honest = { ...HONEST, latencyMs: random.between(1, 100) };
  return {
    settings: {
      chainId: CHAIN_ID,
      confirmations: finalDepth,
      finality: 'finalized',
      pollMs: 500,
      pollMsMax: 15_000,
      isLocal: false,
      isDevelopment: false,
      rangesMax: 1_000,
      verification: { everyMs: random.between(1_000, 15_000), callMs: 0 },
    },
    finalDepth,
    endpoints: providers === 1 ? [odd] : random.chance(0.5) ? [odd, honest] : [honest, odd],
    overstates: 0,
    isTrue: kind.isTrue,
    isExact: kind.isTrue,
    mayBeMissing: kind.mayBeMissing === true && providers === 1,
    killed: 0,
    losesAnswers: 0,
    readStoreAway: 0,
    announces: 0,
    logsMost: random.pick(kind.logsMost ?? [4]) ?? 4,
    ...(kind.givesUp && { givesUp: { round: random.between(1, 12), blocks: random.between(1, 5) } }),
  };
};
