import { hash } from 'node:crypto';
import type { CatcherAnnouncement, NodeAnnouncement } from '../../../schemas/announcements.ts';
import type { GatewayNode } from '../../../schemas/http/event-catcher/gateway-routes.ts';

/** What a process announced, and whether it still does. */
interface Announced<Document> {
  isAlive: boolean;
  document: Document;
}

/** The chains that the nodes stream, and whether event catchers follow them. */
interface Served extends Pick<GatewayNode, 'chainIds' | 'headBlock'> {
  /** Where event catchers answer. */
  domains: ReadonlySet<string | undefined>;
  areChainsFollowed: boolean;
}

/**
 * Returns the nodes, ordered by address. A node is everything that answers at one `rpcDomain`: several processes behind
 * a proxy are one node. A process that is not alive counts only if its node has no other one.
 */
export const gatewayNodes = (
  announced: readonly Announced<NodeAnnouncement>[],
  { domains, areChainsFollowed, ...served }: Served,
): GatewayNode[] =>
  Array.from(Map.groupBy(announced, ({ document }) => document.address).values(), (processes) => {
    const alive = processes.filter(({ isAlive }) => isAlive);
    const [{ document }] = (alive.length > 0 ? alive : processes) as [Announced<NodeAnnouncement>];
    const { address, domain, rpcDomain } = document;
    return {
      id: `nod_${address.slice(2).toLowerCase()}`,
      address,
      domain,
      rpcDomain,
      ...served,
      connections: alive.reduce((sum, one) => sum + one.document.connections, 0),
      partitions: [...new Set(alive.flatMap((one) => one.document.partitions))].sort((one, other) => one - other),
      healthy: alive.some((one) => one.document.isReady) && domains.has(domain) && areChainsFollowed,
    };
  }).sort((one, other) => (one.id < other.id ? -1 : 1));

/**
 * Orders nodes for those who read one partition, by rendezvous hashing: healthy nodes first, each by a hash of it and of the
 * partition. So one node reads a partition for all of its clients; if a node ends, only its own clients move, and spread
 * over the others; a new node takes over a part of the partitions of each (decision 0081).
 */
export const nodesForPartition = (nodes: readonly GatewayNode[], partition: number): GatewayNode[] => {
  const rank = ({ id, healthy }: GatewayNode) =>
    `${healthy ? '0' : '1'}${hash('sha256', `${String(partition)} ${id}`)}`;
  return nodes
    .map((node) => ({ node, rank: rank(node) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .map(({ node }) => node);
};

/** Whether each of these chains is followed by a live event catcher that reports no error for it. */
export const areFollowed = (
  chainIds: readonly number[],
  catchers: readonly Announced<CatcherAnnouncement>[],
): boolean =>
  chainIds.every((wanted) =>
    catchers.some(({ isAlive, document: { followed, statuses } }) => {
      const error = statuses.find(({ chainId }) => chainId === wanted)?.error ?? null;
      return isAlive && followed.includes(wanted) && error === null;
    }),
  );
