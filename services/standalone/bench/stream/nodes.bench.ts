import { join } from 'node:path';
import { pino } from 'pino';
import { nodeAnnouncement, NODES_KIND } from '../../../../schemas/announcements.ts';
import type { GatewayNode } from '../../../../schemas/http/event-catcher/gateway-routes.ts';
import { contractKey, topics } from '../../../../schemas/topics.ts';
import { loadSettings } from '../../../../shared/config/load-settings.ts';
import { Members } from '../../../../shared/coordination/members.ts';
import { closeEngines, openEngines, type Engines } from '../../../../shared/host/engines/engines.ts';
import { partitionOfKey } from '../../../../shared/message-bus/partitioning.ts';
import { systemClock } from '../../../../shared/primitives/clock.ts';
import { pause } from '../../../../shared/primitives/waiting/pause.ts';
import { gatewayNodes, nodesForPartition } from '../../../event-catcher/domain/gateway-nodes.ts';
import { CHAIN_ID } from '../../../stream/testing/fake-catcher.ts';
import { aimed, latencyOf, type Report } from '../measure.ts';
import { inParallel } from './fan-out.ts';
import { faultsIn, FollowingClient } from './following-client.ts';
import { PublishedContracts } from './published-contracts.bench.ts';
import { StreamServer } from './stream-servers.ts';
import { CLIENTS, SECONDS } from './stream-sizes.ts';
import { atRate, until } from './troubles.ts';

const NODES = 4;
const PARTITIONS = topics.chainEvents.partitions;
const CONTRACTS = 48;
const EVENT_URL = 'http://events.test';
const PUBLISHES_PER_SECOND = 5;
/** The gateway takes a node for alive once it has seen it renew its announcement. */
const KNOWN_AFTER_MS = 5_000;

interface Given {
  folder: string;
  settings: Record<string, string>;
  tokens: readonly string[];
  report: Report;
}

/** Four nodes on the same stores, among which the gateway spreads the clients. One is killed while events are published. */
export const benchNodes = async ({ folder, settings, tokens, report }: Given): Promise<void> => {
  const shared = join(folder, 'nodes');
  const gateway = await Gateway.open(shared);
  const servers: StreamServer[] = [];
  try {
    for (let count = 0; count < NODES; count += 1) {
      servers.push(await StreamServer.annals(shared, { ...settings, EVENT_URL }));
    }
    await using published = await PublishedContracts.open(shared, CONTRACTS);
    await pause(KNOWN_AFTER_MS);
    const clients = tokens.slice(0, CLIENTS).map((token, at) => {
      const contract = published.contracts[at % CONTRACTS] ?? '';
      const where = async (attempt: number) => {
        const nodes = await gateway.nodesOf(contract);
        return nodes[attempt % nodes.length]?.rpcDomain ?? '';
      };
      return new FollowingClient(where, token, contract);
    });
    await inParallel(clients, (client) => client.connect());
    await publishAndKill({ gateway, servers, published, clients, report });
    for (const client of clients) client.cut();
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
    await gateway.close();
  }
};

interface Running {
  gateway: Gateway;
  servers: readonly StreamServer[];
  published: PublishedContracts;
  clients: readonly FollowingClient[];
  report: Report;
}

const publishAndKill = async ({ gateway, servers, published, clients, report }: Running): Promise<void> => {
  const numbers = new Map<string, number[]>(published.contracts.map((contract) => [contract, []]));
  const publish = async () => {
    for (const [at, number] of (await published.publish(published.contracts)).entries())
      numbers.get(published.contracts[at] ?? '')?.push(number);
  };
  await atRate(PUBLISHES_PER_SECOND, SECONDS, publish);
  const nodes = await gateway.nodesOf(published.contracts[0] ?? '');
  const partitions = nodes.map((node) => node.partitions.length);
  const before = latencyOf(
    `${String(NODES)} nodes: at ${String(PUBLISHES_PER_SECOND * CONTRACTS)} events/s`,
    clients.flatMap(({ tookMs }) => tookMs.splice(0)),
  );
  const { rpcDomain, connections } = nodes.toSorted((one, other) => other.connections - one.connections)[0] ?? {};
  const killedAt = performance.now();
  await servers.find(({ url }) => url === rpcDomain)?.kill();
  const lost = clients.filter(({ url }) => url === rpcDomain);
  const back = lost.map(async (client) => {
    await client.connect();
    await until(() => client.isLive, 'a client of the killed node must be back');
    return (performance.now() - killedAt) / 1_000;
  });
  await atRate(PUBLISHES_PER_SECOND, SECONDS, publish);
  const seconds = await Promise.all(back);
  await until(() => clients.every((client) => client.last === numbers.get(client.contract)?.at(-1)), 'all must arrive');
  const faults = clients.reduce((sum, { taken, contract }) => sum + faultsIn(taken, numbers.get(contract) ?? []), 0);
  const of = `${clients.length.toLocaleString('en')} clients of ${String(CONTRACTS)} contracts at ${String(NODES)} nodes`;
  const what = `kill of a node with ${String(connections)} clients`;
  report(before);
  const most = Math.max(...partitions);
  report(
    aimed(
      { what: `partitions read twice (${partitions.join(' + ')})`, value: sumOf(partitions) - PARTITIONS, unit: '' },
      { atMost: 0, of },
    ),
  );
  report(aimed({ what: 'most partitions of a node', value: most, unit: 'of 12' }, { atMost: 8, of }));
  report(aimed({ what: `${what}: back`, value: seconds.length, unit: 'clients' }, { atLeast: lost.length, of }));
  report(aimed({ what: `${what}: all back`, value: Math.max(...seconds), unit: 's' }, { atMost: 10, of }));
  report(aimed({ what: `${what}: lost, disordered`, value: faults, unit: 'events' }, { atMost: 0, of }));
};

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Orders the nodes as an event catcher does, from what they announce. */
class Gateway {
  private readonly members: Members<typeof nodeAnnouncement>;

  private constructor(private readonly engines: Pick<Engines, 'readStore'>) {
    const logger = pino({ level: 'error' });
    this.members = new Members({ ...engines, kind: NODES_KIND, schema: nodeAnnouncement, clock: systemClock, logger });
    this.members.loop.start();
  }

  static async open(folder: string): Promise<Gateway> {
    const { settings } = loadSettings({ DATA_DIR: folder, LOG_LEVEL: 'silent' });
    return new Gateway(await openEngines(settings, pino({ level: 'error' }), ['readStore']));
  }

  async nodesOf(contract: string): Promise<GatewayNode[]> {
    const announced = await this.members.current();
    const served = { chainIds: [CHAIN_ID], headBlock: null, domains: new Set([EVENT_URL]), areChainsFollowed: true };
    const partitioning = announced[0]?.document.partitioning ?? { hash: 'crc32', partitions: PARTITIONS };
    return nodesForPartition(
      gatewayNodes(announced, served),
      partitionOfKey(partitioning, contractKey(CHAIN_ID, contract)),
    );
  }

  async close(): Promise<void> {
    await this.members.loop.stop();
    await closeEngines(this.engines);
  }
}
