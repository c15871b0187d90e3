import type { CatcherAnnouncement, NodeAnnouncement } from '../../../schemas/announcements.ts';
import type { GatewayNode } from '../../../schemas/http/gateway-routes.ts';

/** What a process announced, and whether it still does. */
interface Announced<Document> {
  isAlive: boolean;
  document: Document;
}

/** What the nodes stream, and whether that is read. */
interface Served extends Pick<GatewayNode, 'chainIds' | 'headBlock'> {
  /** Where event catchers answer. */
  domains: ReadonlySet<string | undefined>;
  areChainsFollowed: boolean;
}

/**
 * Returns the nodes, ordered by address. A node is whatever answers at one `rpcDomain`: several processes behind a proxy
 * are one node. A process that does not live counts only where its node has no other.
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
      healthy: alive.some((one) => one.document.isReady) && domains.has(domain) && areChainsFollowed,
    };
  }).sort((one, other) => (one.id < other.id ? -1 : 1));

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
