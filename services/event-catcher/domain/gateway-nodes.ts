import type { NodeAnnouncement } from '../../../schemas/announcements.ts';
import type { GatewayNode } from '../../../schemas/http/gateway-routes.ts';

/** What a process of the stream announced, and whether it still does. */
interface Announced {
  isAlive: boolean;
  document: NodeAnnouncement;
}

/**
 * Returns the nodes, ordered by address. A node is whatever answers at one `rpcDomain`: several processes behind a proxy
 * are one node. A process that does not live counts only where its node has no other.
 */
export const gatewayNodes = (
  announced: readonly Announced[],
  served: Pick<GatewayNode, 'chainIds' | 'headBlock'>,
): GatewayNode[] =>
  Array.from(Map.groupBy(announced, ({ document }) => document.address).values(), (processes) => {
    const alive = processes.filter(({ isAlive }) => isAlive);
    const [{ document }] = (alive.length > 0 ? alive : processes) as [Announced, ...Announced[]];
    const { address, domain, rpcDomain } = document;
    return {
      id: `nod_${address.slice(2).toLowerCase()}`,
      address,
      domain,
      rpcDomain,
      ...served,
      connections: alive.reduce((sum, one) => sum + one.document.connections, 0),
      healthy: alive.some((one) => one.document.isReady),
    };
  }).sort((one, other) => (one.id < other.id ? -1 : 1));
