import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ChainEvent } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { StoredEvent } from '../../../../shared/event-store/event-store.ts';
import { untilAborted } from '../../../../shared/primitives/waiting/until-aborted.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { CatcherFaults } from '../../testing/simulation/catcher-faults.ts';
import { transferWatch } from '../../testing/example-watches.ts';
import { transfer } from '../../testing/follower/follower-under-test.ts';
import { projectedRecords } from '../../testing/projected-records.ts';
import { Registrations } from '../../testing/registrations.ts';
import { SimulatedChain } from '../../../../shared/testing/chain/simulated-chain.ts';
import { SimulatedEndpoint } from '../../testing/simulated-chain/simulated-endpoint.ts';
import { inSimulation } from '../../../../shared/testing/simulation/simulated-globals.ts';
import { HONEST } from '../../testing/simulated-chain/simulated-habits.ts';
import { SimulatedProcess } from '../../testing/simulation/simulated-process.ts';
import { SimulatedStore } from '../../testing/simulation/simulated-store.ts';
import { SimulatedTime } from '../../../../shared/testing/simulation/simulated-time.ts';

const BEGAN_AT = Date.parse('2026-01-02T03:00:00.000Z');
const BLOCK_MS = 2_000;
/** The verification is off: it has its own pace. */
const HOUR_MS = 3_600_000;
const BLOCKS_BEFORE = 400;
/** The provider works until then, and everything is read. */
const WELL_MS = 60_000;
/** How long the time afterwards is observed. */
const AFTER_MS = 60_000;
/** The rule: within this time of the provider's first good answer, the chain is followed as before. */
const RECOVERS_MS = 5_000;
/** The least frequent polling of a bad provider, plus the time of a pending request and of a restart. */
const ALONE_MAX_MS = RECOVERS_MS + 500;
/** The most requests to each provider while it is bad, in multiples of a quiet day: smaller ranges are tried, too. */
const PACED = 10;
/**
 * The share of a quiet day's requests that still counts as the same pace: requests that only compare providers may be
 * missing.
 */
const SAME = 0.8;

/** How a provider treats a request. `honest` returns the true answer. */
type Habit = (honest: () => Promise<Response>, world: { random: SeededRandom; body: string }) => Promise<Response>;

const refused =
  (headers: Record<string, string> = {}): Habit =>
  () =>
    Promise.resolve(new Response('too many requests', { status: 429, headers }));
const failed: Habit = () => Promise.resolve(new Response('<html>bad gateway</html>', { status: 502 }));
const cut: Habit = () => Promise.reject(new TypeError('fetch failed', { cause: new Error('other side closed') }));
const half: Habit = async (honest) => {
  const text = await (await honest()).text();
  return new Response(text.slice(0, text.length / 2), { headers: { 'content-type': 'application/json' } });
};
const mixing =
  (...habits: readonly Habit[]): Habit =>
  (honest, world) =>
    (world.random.pick(habits) ?? honest)(honest, world);
const well: Habit = (honest) => honest();
const ofLogs =
  (habit: Habit): Habit =>
  (honest, world) =>
    /eth_getLogs|Receipt/.test(world.body) ? habit(honest, world) : honest();

const OF_LOGS: Record<string, Habit> = {
  'refuses requests for logs with 429': ofLogs(refused()),
  'cuts connections over which logs are asked for': ofLogs(cut),
  'answers 502 when it is asked for logs': ofLogs(failed),
};
const HABITS: Record<string, Habit> = {
  ...OF_LOGS,
  'refuses with 429': refused(),
  'refuses with 429, to come back at once': refused({ 'retry-after': '0' }),
  'refuses with 429, to come back in ten minutes': refused({ 'retry-after': '600' }),
  'answers 502': failed,
  'cuts connections': cut,
  'gives half answers': half,
  'does all of that in turn': mixing(refused(), refused({ 'retry-after': '600' }), failed, cut, half),
  'does all of that to every other request': mixing(refused(), well, failed, well, cut, well, half, well),
  'refuses every other request with 429': mixing(refused(), well),
  'refuses nearly every request with 429': mixing(refused(), refused(), refused(), well),
};

interface BadTime {
  badMs: number;
  providers: number;
}

interface Outcome {
  /** When requests were made, and when the first good answer came, counted from the provider's recovery. */
  askedAt: readonly number[];
  answeredAt: number;
  /** For each record since the provider was bad: when it was stored, and when its block was mined. */
  records: readonly { storedAt: number; minedAt: number }[];
}

/** Follows a chain with a block every two seconds. All of its providers are bad for a while, at the same time. */
const follow = async (habit: Habit, { badMs, providers }: BadTime): Promise<Outcome> => {
  const time = new SimulatedTime(BEGAN_AT);
  const random = new SeededRandom(badMs);
  const faults = new CatcherFaults();
  let sinceFirstMs = -BLOCKS_BEFORE * BLOCK_MS;
  const chain = new SimulatedChain({
    ...{ chainId: transferWatch.chainId, finalDepth: 12, hash: () => random.hash() },
    time: () => Math.floor((time.real() + sinceFirstMs) / 1_000),
  });
  const world = { random, time, faults, chain };
  const wellAt = WELL_MS + badMs;
  const since = () => time.elapsed() - wellAt;
  const minedAt = new Map<number, number>();
  const records: { storedAt: number; minedAt: number }[] = [];
  const store = new SimulatedStore(world, (_stream, events) => {
    for (const event of events) {
      if (event.type !== 'ChainEventObserved') continue;
      const { data } = event as StoredEvent & ChainEvent;
      const mined = minedAt.get(data.BlockNumber) ?? -Infinity;
      if (mined >= -badMs) records.push({ storedAt: since(), minedAt: mined });
    }
  });
  const node = new SimulatedEndpoint(chain, world, HONEST);
  const askedAt: number[] = [];
  let answeredAt = Infinity;
  const provider = {
    answer: async (body: string): Promise<Response> => {
      askedAt.push(since());
      const isBad = time.elapsed() >= WELL_MS && since() < 0;
      const isFirst = since() >= 0 && answeredAt === Infinity;
      const response = await (isBad ? habit : well)(() => node.answer(body), { random, body });
      if (isFirst) answeredAt = since();
      return response;
    },
  };
  const mine = () => {
    chain.extend([transfer(chain.tip.number)]);
    minedAt.set(chain.tip.number, since());
  };
  const fetch = (url: string, { body, signal }: { body: string; signal: AbortSignal }) =>
    untilAborted(process.fetch(Number(/\d+\.(\d+)/.exec(url)?.[1]), body), signal);
  const timing = { pollMs: 500, pollMsMax: 15_000, verification: { everyMs: HOUR_MS, callMs: 40 } };
  const finality = 'finalized' as const;
  const kind = { isLocal: false, isDevelopment: false, rangesMax: 1_000, confirmations: 12, finality };
  const settings = { chainId: transferWatch.chainId, ...kind, ...timing };
  const isKilledNow = () => false;
  const endpoints = Array.from({ length: providers }, () => provider);
  const readStore = projectedRecords(store, { random });
  const process: SimulatedProcess = new SimulatedProcess(
    { settings, store, readStore, endpoints, isKilledNow, announcedAgoMs: () => Infinity },
    0,
    () => undefined,
  );
  await inSimulation(
    { time, random: () => random.next(), fetch: fetch as unknown as typeof globalThis.fetch },
    async () => {
      for (; sinceFirstMs < 0; sinceFirstMs += BLOCK_MS) mine();
      await new Registrations(store).register(transferWatch);
      process.start();
      while (since() < AFTER_MS) {
        await time.pause(BLOCK_MS);
        mine();
      }
      await time.pause(BLOCK_MS);
      await process.stop();
    },
  );
  return { askedAt, answeredAt, records };
};

describe.each([
  { badMs: 15_000, providers: 1, habits: HABITS },
  { badMs: 15_000, providers: 2, habits: HABITS },
  { badMs: 300_000, providers: 1, habits: HABITS },
  { badMs: 900_000, providers: 1, habits: OF_LOGS },
])('a chain whose $providers providers were bad for $badMs ms, and are well', (bad) => {
  const { badMs, habits, providers } = bad;
  let quiet: Outcome;
  beforeAll(async () => {
    quiet = await follow(well, bad);
  });

  it.each(Object.entries(habits))('is followed at its own pace at once, where each %s', async (_how, habit) => {
    const { askedAt, answeredAt, records } = await follow(habit, bad);
    const steadyFrom = answeredAt + RECOVERS_MS;
    const gaps = askedAt.slice(1).map((at, index) => at - (askedAt[index] ?? 0));
    const asked = (from: number, to: number, of = askedAt) => of.filter((at) => from <= at && at < to).length;
    expect({
      isSeenAtOnce: answeredAt <= ALONE_MAX_MS,
      isLeftAlone: Math.max(...gaps) > ALONE_MAX_MS,
      isAskedTooOften: asked(-badMs, 0) > PACED * providers * asked(-badMs, 0, quiet.askedAt),
      isAskedTooSlowly: asked(steadyFrom, AFTER_MS) < SAME * asked(steadyFrom, AFTER_MS, quiet.askedAt),
      records: records.length,
      isLate: records.some(({ storedAt, minedAt }) => storedAt > Math.max(steadyFrom, minedAt) + RECOVERS_MS),
    }).toEqual({
      isSeenAtOnce: true,
      isLeftAlone: false,
      isAskedTooOften: false,
      isAskedTooSlowly: false,
      records: quiet.records.length,
      isLate: false,
    });
  });
});
