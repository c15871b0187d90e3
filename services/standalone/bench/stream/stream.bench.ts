import { join } from 'node:path';
import { aimed, type Figure, type Report } from '../measure.ts';
import { benchAppendToSockets } from './append-to-sockets.bench.ts';
import { benchBehindCache, publicChain } from './behind-cache.bench.ts';
import { benchTokens } from './bench-tokens.jose.ts';
import { FannedOut, type FanOut } from './fan-out.ts';
import { benchNodes } from './nodes.bench.ts';
import { PublishedContracts } from './published-contracts.bench.ts';
import { CLIENTS, CROWD, PARTS, SECONDS, SOCKETS } from './stream-sizes.ts';
import { StreamServer } from './stream-servers.ts';
import { benchCrowd, benchJitter, benchStalled, type Trouble } from './troubles.ts';

const SUBSCRIPTIONS = 3;
/** Of the parts after that, which read them together. */
const CHANNELS = 20;

/**
 * Measures the stream beside raw Socket.IO, which reads the same bus: many sockets, and what clients do to a node that are
 * cut, come back at once, or stop reading. Then the way of an event from the event store to a socket.
 */
export const benchStream = async (folder: string, report: Report): Promise<void> => {
  const tokens = await benchTokens();
  try {
    const ofUsers = await tokens.tokensOf(Math.max(SOCKETS, CLIENTS, CROWD));
    const start = (name: string, settings = {}) =>
      StreamServer.annals(join(folder, name), { ...tokens.settings, ...settings });
    const inTrouble =
      (trouble: (given: Trouble) => Promise<void>, settings = {}) =>
      async () => {
        const server = await start(trouble.name, settings);
        await using published = await PublishedContracts.open(server.folder, CHANNELS);
        await trouble({ server, published, tokens: ofUsers, report });
        await server.stop();
      };
    const parts = {
      'fan-out': async () => {
        const raw = await measureFanOut(await StreamServer.raw(join(folder, 'raw')), ofUsers);
        const annals = await measureFanOut(await start('annals'), ofUsers, raw.deliveriesPerSecond / 2);
        for (const figure of besideRaw(annals, raw)) report(figure);
      },
      jitter: inTrouble(benchJitter),
      crowd: inTrouble(benchCrowd),
      stalled: inTrouble(benchStalled),
      cache: inTrouble(benchBehindCache, publicChain),
      nodes: () => benchNodes({ folder, settings: tokens.settings, tokens: ofUsers, report }),
      append: () => benchAppendToSockets(join(folder, 'npm-start'), report),
    };
    for (const [name, run] of Object.entries(parts)) if (PARTS?.includes(name) ?? true) await run();
  } finally {
    tokens.close();
  }
};

/** @param load deliveries a second; by default half of what the server delivers */
const measureFanOut = async (server: StreamServer, tokens: readonly string[], load?: number): Promise<FanOut> => {
  await using published = await PublishedContracts.open(server.folder, SUBSCRIPTIONS);
  const measured = await new FannedOut(server, published, tokens.slice(0, SOCKETS)).run(load);
  await server.stop();
  return measured;
};

const besideRaw = (annals: FanOut, raw: FanOut): Figure[] => {
  const of = `${SOCKETS.toLocaleString('en')} sockets x ${String(SUBSCRIPTIONS)} subscriptions; meant for 10,000`;
  return [
    {
      what: 'raw Socket.IO: deliveries',
      perSecond: raw.deliveriesPerSecond,
      count: raw.deliveriesPerSecond * SECONDS,
      seconds: SECONDS,
    },
    aimed(
      { what: 'deliveries, of raw', value: (100 * annals.deliveriesPerSecond) / raw.deliveriesPerSecond, unit: '%' },
      { atLeast: 95, of },
    ),
    aimed(
      {
        what: 'processor a delivery, of raw',
        value: (100 * annals.processorMicroseconds) / raw.processorMicroseconds,
        unit: '%',
      },
      { atMost: 105, of },
    ),
    { what: 'raw Socket.IO: an accept', msEach: raw.eachMs.accept },
    { what: 'an accept', msEach: annals.eachMs.accept },
    { what: 'raw Socket.IO: three subscriptions', msEach: raw.eachMs.subscribe },
    { what: 'three subscriptions', msEach: annals.eachMs.subscribe },
    { ...raw.latency, what: 'raw Socket.IO: at half its load' },
    { ...annals.latency, what: 'at the same load' },
    aimed(
      { what: 'at the same load: p99', value: annals.latency.p99Ms, unit: 'ms' },
      { atMost: raw.latency.p99Ms, of },
    ),
    { what: 'raw Socket.IO: memory of a connection', bytesEach: raw.bytesEach },
    { what: 'memory of a connection', bytesEach: annals.bytesEach },
    aimed(
      { what: 'memory of a connection, of raw', value: annals.bytesEach / raw.bytesEach, unit: 'x' },
      { atMost: 1.1, of },
    ),
    aimed({ what: 'raw Socket.IO: accepts', value: raw.acceptsPerSecond, unit: '/s' }, { atLeast: 800, of }),
    aimed({ what: 'accepts', value: annals.acceptsPerSecond, unit: '/s' }, { atLeast: 800, of }),
    aimed(
      { what: 'raw Socket.IO: clients that subscribe', value: raw.subscribersPerSecond, unit: '/s' },
      { atLeast: 800, of },
    ),
    aimed({ what: 'clients that subscribe', value: annals.subscribersPerSecond, unit: '/s' }, { atLeast: 800, of }),
  ];
};
