import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import type { CatcherFault, CatcherFaults } from '../simulation/catcher-faults.ts';
import type { OddNode } from './odd-nodes.ts';
import { NOT_ODD, randomOddities, type Oddities } from './simulated-oddities.ts';
import type { SimulatedTime } from '../../../../shared/testing/simulation/simulated-time.ts';

/** What endpoints do wrong for a while, and for how long at most. */
const HABITS = {
  silent: { fault: 'an endpoint does not answer in time', mostMs: 20_000 },
  failing: { fault: 'an endpoint fails', mostMs: 10_000 },
  broken: { fault: 'an endpoint breaks off an answer', mostMs: 5_000 },
  limited: { fault: 'an endpoint refuses requests that come too fast', mostMs: 3_000 },
  withholding: { fault: 'an endpoint leaves out the logs of blocks', mostMs: 30_000 },
  shortening: { fault: 'an endpoint shortens a list of logs', mostMs: 30_000 },
  inventing: { fault: 'an endpoint invents a log', mostMs: 20_000 },
  lagging: { fault: 'an endpoint is behind', mostMs: 20_000 },
  old: { fault: 'an endpoint has the blocks that left the chain', mostMs: 30_000 },
  apart: { fault: 'an endpoint is on a branch of its own', mostMs: 20_000 },
  denying: { fault: 'an endpoint denies a block that it has', mostMs: 5_000 },
  elsewhere: { fault: 'an endpoint answers another block', mostMs: 5_000 },
  misnaming: { fault: 'an endpoint gives a block another hash', mostMs: 5_000 },
  ofOtherChain: { fault: 'an endpoint names another chain', mostMs: 20_000 },
  misrouted: { fault: 'an endpoint asks another chain for its head', mostMs: 3_000 },
  unfinalized: { fault: 'an endpoint has no finalized block', mostMs: 30_000 },
  lateFinalized: { fault: 'an endpoint has an old finalized block', mostMs: 30_000 },
} as const satisfies Record<string, { fault: CatcherFault; mostMs: number }>;
export type Habit = keyof typeof HABITS;
const NAMES = Object.keys(HABITS) as Habit[];

/** Faults that the catcher detects with two endpoints, one of them honest, but not with one. */
const BOLD = ['shortening', 'inventing'] as const satisfies Habit[];
/** Faults that an endpoint may keep for ever beside an honest one. */
const LASTING = [
  'silent',
  'failing',
  'broken',
  'limited',
  'withholding',
  'shortening',
  'lagging',
  'denying',
  'unfinalized',
] as const satisfies Habit[];

/** Probability, at each request, that an endpoint starts a fault. */
export type Likelihoods = Partial<Record<Habit, number>>;

export interface EpisodesWorld {
  random: SeededRandom;
  time: SimulatedTime;
  faults: CatcherFaults;
}

/** Habits that come and go. */
export class Episodes {
  private readonly untilMs = new Map<Habit, number>();

  constructor(
    private readonly world: EpisodesWorld,
    private readonly likelihoods: Likelihoods,
  ) {}

  has(habit: Habit): boolean {
    const { random, time } = this.world;
    if ((this.untilMs.get(habit) ?? 0) > time.elapsed()) return true;
    if (!random.chance(this.likelihoods[habit] ?? 0)) return false;
    this.untilMs.set(habit, time.elapsed() + random.between(1, HABITS[habit].mostMs));
    return true;
  }

  /** Notes that a fault had an effect. */
  count(habit: Habit): void {
    this.world.faults.count(HABITS[habit].fault);
  }

  /** Leaves only these faults from now on, for ever. */
  settle(lasting: readonly Habit[]): void {
    for (const habit of NAMES) {
      this.untilMs.delete(habit);
      this.likelihoods[habit] = 0;
    }
    for (const habit of lasting) this.untilMs.set(habit, Infinity);
  }
}

/** The nature of one endpoint in a seed. */
export interface EndpointNature {
  likelihoods: Likelihoods;
  /** The faults that remain once all is calm. */
  lasting: readonly Habit[];
  latencyMs: number;
  batchMost: number;
  blocksMost: number;
  logsMost: number;
  hasBlockReceipts: boolean;
  /** Whether it still answers for blocks that left the chain. */
  keepsOrphans: boolean;
  odd: Oddities;
  /** The first block whose logs and receipts it has. */
  keepsFrom: number;
  /** Whether it refuses ranges in words that no list knows. */
  refusesOddly: boolean;
  /** Its answers instead, for ever. */
  answers?: OddNode;
}

/** If an endpoint takes no more, each call ends up as a request of its own. */
const NO_BATCHES = 3;

export const HONEST: EndpointNature = {
  likelihoods: {},
  lasting: [],
  latencyMs: 5,
  batchMost: Infinity,
  blocksMost: Infinity,
  logsMost: Infinity,
  hasBlockReceipts: true,
  keepsOrphans: false,
  odd: NOT_ODD,
  keepsFrom: 0,
  refusesOddly: false,
};

/**
 * The endpoint without faults that are found out by reliable blooms only: withheld logs of whole blocks and, where
 * blooms promise logs that do not exist, invented logs.
 */
export const withoutHabits = (endpoint: EndpointNature, habits: readonly Habit[]): EndpointNature => ({
  ...endpoint,
  likelihoods: { ...endpoint.likelihoods, ...Object.fromEntries(habits.map((habit) => [habit, 0])) },
  lasting: endpoint.lasting.filter((habit) => !habits.includes(habit)),
});

/**
 * The endpoints of a seed. Faults that no catcher can detect do not happen: logs are withheld in part of a block, or
 * invented, only if the first endpoint is honest and always answers.
 */
export const randomEndpoints = (random: SeededRandom): EndpointNature[] => {
  const count = random.between(1, 3);
  const isOneBold = count > 1 && random.chance(0.5);
  return Array.from({ length: count }, (_, at) => {
    if (isOneBold && at === 0) return { ...HONEST, latencyMs: random.between(1, 300) };
    const isBold = isOneBold && at === 1;
    const likelihoods = randomLikelihoods(random);
    // If two endpoints withhold the same logs, neither is found out.
    if (count > 1 && at !== 1) likelihoods.withholding = 0;
    if (isBold) for (const habit of BOLD) likelihoods[habit] = random.chance(0.7) ? random.next() * 0.2 : 0;
    const bounds = randomBounds(random);
    // An endpoint may fall behind between the requests for the last block of a range and for its logs. Nobody finds
    // that out.
    if (bounds.batchMost <= NO_BATCHES) likelihoods.lagging = 0;
    const stays = at === 1 && random.chance(0.5);
    const habit = random.pick(isBold ? LASTING : LASTING.filter((one) => one !== 'shortening'));
    return { likelihoods, lasting: stays && habit ? [habit] : [], ...bounds };
  });
};

const randomLikelihoods = (random: SeededRandom): Likelihoods => {
  const often = (most: number): number => (random.chance(0.4) ? random.next() * most : 0);
  return {
    silent: often(0.01),
    failing: often(0.03),
    broken: often(0.03),
    limited: often(0.05),
    withholding: often(0.1),
    lagging: often(0.04),
    old: often(0.5),
    apart: often(0.01),
    denying: often(0.02),
    elsewhere: often(0.02),
    misnaming: often(0.02),
    ofOtherChain: often(0.02),
    misrouted: often(0.02),
    unfinalized: often(0.2),
    lateFinalized: often(0.2),
  };
};

const randomBounds = (random: SeededRandom): Omit<EndpointNature, 'likelihoods' | 'lasting' | 'answers'> => ({
  latencyMs: random.between(1, 300),
  batchMost: random.chance(0.3) ? random.between(1, 30) : Infinity,
  blocksMost: random.chance(0.2) ? (random.pick([3, 20, 50, 100]) ?? 3) : Infinity,
  logsMost: random.chance(0.3) ? random.between(2, 40) : Infinity,
  hasBlockReceipts: random.chance(0.7),
  keepsOrphans: random.chance(0.5),
  odd: randomOddities(random),
  keepsFrom: 0,
  refusesOddly: random.chance(0.2),
});

/** Endpoints that have pruned blocks before this one, or some of them, unless they keep all. */
export const withoutHistory = (random: SeededRandom, endpoints: EndpointNature[], most: number): EndpointNature[] =>
  endpoints.map((endpoint) => ({ ...endpoint, keepsFrom: random.chance(0.8) ? random.between(1, most) : 0 }));
