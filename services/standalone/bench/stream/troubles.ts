import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { aimed, latencyOf, type Report } from '../measure.ts';
import { inParallel } from './fan-out.ts';
import { faultsIn, FollowingClient } from './following-client.ts';
import type { PublishedContracts } from './published-contracts.bench.ts';
import type { StreamServer } from './stream-servers.ts';
import { CLIENTS, CROWD, SECONDS } from './stream-sizes.ts';

const AWAY_MS = 2_000;
const CUT_EVERY_MS = [10_000, 20_000] as const;
const EVENTS_PER_SECOND = 10;
const TICK_MS = 10;
const CAUGHT_UP_WITHIN_MS = 120_000;
/** More than a node keeps of a partition in memory. */
const BESIDE = 12_000;
const MISSED = 100;
const BACK_WITHIN_MS = 1_000;
const MESSAGES_PER_SECOND = 200;
const STALLED_SHARE = 0.05;

export interface Trouble {
  server: StreamServer;
  published: PublishedContracts;
  tokens: readonly string[];
  report: Report;
}

/** Clients that are cut every 15 s or so, for two seconds. */
export const benchJitter = async ({ server, published, tokens, report }: Trouble): Promise<void> => {
  const [contract = ''] = published.contracts;
  const clients = tokens.slice(0, CLIENTS).map((token) => new FollowingClient(server.url, token, contract));
  await inParallel(clients, (client) => client.connect());
  const random = new SeededRandom(1);
  const isOver = { value: false };
  const numbers: number[] = [];
  const jitter = clients.map(async (client) => {
    await pause(random.between(0, CUT_EVERY_MS[1]));
    while (!isOver.value) {
      client.cut();
      await pause(AWAY_MS);
      await client.connect();
      await pause(random.between(...CUT_EVERY_MS));
    }
  });
  await atRate(EVENTS_PER_SECOND, SECONDS * 2.5, async () => {
    numbers.push(...(await published.publish([contract])));
  });
  isOver.value = true;
  await Promise.all(jitter);
  const last = numbers.at(-1) ?? 0;
  await until(() => clients.every((client) => client.last === last), 'every client must have the last event');
  const faults = clients.reduce((sum, { taken }) => sum + faultsIn(taken, numbers), 0);
  const { count, p99Ms, ...latency } = latencyOf(
    'cut every 15 s: while connected',
    clients.flatMap(({ tookMs }) => tookMs),
  );
  const of = `${CLIENTS.toLocaleString('en')} clients; meant for 2,000 over 160 s`;
  report({ ...latency, count, p99Ms });
  report(aimed({ what: 'cut every 15 s: p99', value: p99Ms, unit: 'ms' }, { atMost: 500, of }));
  report(
    aimed({ what: 'cut every 15 s: lost, doubled, disordered', value: faults, unit: 'events' }, { atMost: 0, of }),
  );
  for (const client of clients) client.cut();
};

/** Clients that come back within a second with cursors that are older than what the node keeps in memory. */
export const benchCrowd = async ({ server, published, tokens, report }: Trouble): Promise<void> => {
  const [contract = ''] = published.contracts;
  const clients = tokens.slice(0, CROWD).map((token) => new FollowingClient(server.url, token, contract));
  await inParallel(clients, (client) => client.connect());
  for (const client of clients) client.cut();
  const missed = await published.publish(Array.from({ length: MISSED }, () => contract));
  await published.publishBeside(contract, BESIDE);
  const reads = await server.count('annals_stream_bus_reads_total');
  const startedAt = performance.now();
  const back = clients.map(async (client, at) => {
    await pause((BACK_WITHIN_MS * at) / clients.length);
    await client.connect();
  });
  // Those that are not live by then are reported below.
  await within(() => clients.every(({ isLive }) => isLive));
  const seconds = (performance.now() - startedAt) / 1_000;
  const of = `${CROWD.toLocaleString('en')} clients; meant for 10,000`;
  const faults = clients.filter(({ taken }) => faultsIn(taken, missed) > 0 || taken.length !== missed.length).length;
  report(aimed({ what: 'back within a second: all caught up', value: seconds, unit: 's' }, { atMost: 10, of }));
  report(aimed({ what: 'back within a second: most memory', value: server.peakMb, unit: 'MB' }, { atMost: 600, of }));
  const readsSince = (await server.count('annals_stream_bus_reads_total')) - reads;
  report(aimed({ what: 'back within a second: reads of the bus', value: readsSince, unit: '' }, { atMost: 1, of }));
  report(aimed({ what: 'back within a second: incomplete', value: faults, unit: 'clients' }, { atMost: 0, of }));
  await Promise.all(back);
  for (const client of clients) client.cut();
};

/** Some clients stop reading, while all are sent messages. */
export const benchStalled = async ({ server, published, tokens, report }: Trouble): Promise<void> => {
  const { contracts } = published;
  const clients = tokens
    .slice(0, CLIENTS)
    .map((token, at) => new FollowingClient(server.url, token, contracts[at % contracts.length] ?? ''));
  await inParallel(clients, (client) => client.connect());
  const send = () =>
    atRate(MESSAGES_PER_SECOND / contracts.length, SECONDS, async () => {
      await published.publish(contracts);
    });
  await send();
  const stalled = clients.slice(0, CLIENTS * STALLED_SHARE);
  const others = clients.slice(stalled.length);
  const takeTimes = () => others.flatMap(({ tookMs }) => tookMs.splice(0));
  const before = { mb: server.memoryMb, latency: latencyOf('all read', takeTimes()) };
  for (const client of stalled) client.pause();
  await send();
  const of = `${String(stalled.length)} of ${CLIENTS.toLocaleString('en')} clients for ${String(SECONDS)} s; meant for 100 of 2,000 for 60 s`;
  const latency = latencyOf('5 % do not read: the others', takeTimes());
  report(before.latency);
  report(latency);
  const atMost = Math.round(before.latency.p99Ms * 1.2 * 10) / 10;
  report(aimed({ what: "5 % do not read: the others' p99", value: latency.p99Ms, unit: 'ms' }, { atMost, of }));
  const moreMb = server.memoryMb - before.mb;
  report(aimed({ what: '5 % do not read: more memory', value: moreMb, unit: 'MB' }, { atMost: 64, of }));
  for (const client of clients) client.cut();
};

export const atRate = async (
  perSecond: number,
  seconds: number,
  work: (count: number) => Promise<void>,
): Promise<void> => {
  const startedAt = performance.now();
  const count = Math.round(perSecond * seconds);
  for (let done = 0; done < count;) {
    const due = Math.min(count, Math.floor(((performance.now() - startedAt) / 1_000) * perSecond));
    for (; done < due; done += 1) await work(done);
    await pause(TICK_MS);
  }
};

export const until = async (isSo: () => boolean, otherwise: string): Promise<void> => {
  if (!(await within(isSo))) throw new Error(otherwise);
};

const within = async (isSo: () => boolean): Promise<boolean> => {
  const deadline = performance.now() + CAUGHT_UP_WITHIN_MS;
  while (!isSo() && performance.now() < deadline) await pause(TICK_MS);
  return isSo();
};
