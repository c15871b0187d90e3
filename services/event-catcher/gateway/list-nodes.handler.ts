import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { GatewayNode } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import { contractKey } from '../../../schemas/topics.ts';
import { readAddressMember } from '../../../shared/chain/identifiers/address.ts';
import { invalid } from '../../../shared/errors/refusal.ts';
import { partitionOfKey } from '../../../shared/message-bus/partitioning.ts';
import { areFollowed, gatewayNodes, nodesForPartition } from '../domain/gateway-nodes.ts';
import { CATCHERS, NODES, type Catchers, type Nodes } from '../edge/ports.ts';
import { WatchModels } from '../edge/watch-models.ts';

/** The nodes that serve a chain, or all of them. */
export class ListNodes extends Query<GatewayNode[]> {
  constructor(
    readonly chainId: number | undefined,
    /** Orders the nodes for the clients of this contract. */
    readonly contractAddress?: string,
  ) {
    super();
  }
}

@QueryHandler(ListNodes)
export class ListNodesHandler implements IQueryHandler<ListNodes> {
  constructor(
    @Inject(NODES) private readonly nodes: Nodes,
    @Inject(CATCHERS) private readonly catchers: Catchers,
    private readonly models: WatchModels,
  ) {}

  async execute({ chainId, contractAddress }: ListNodes): Promise<GatewayNode[]> {
    const key = contractAddress === undefined ? undefined : keyOf(chainId, contractAddress);
    const [nodes, catchers] = await Promise.all([this.nodes.current(), this.catchers.current()]);
    // Each node streams what all catchers store.
    const all = new Set(catchers.flatMap(({ document }) => document.chainIds));
    if (chainId !== undefined && !all.has(chainId)) return [];
    const chainIds = [...all].sort((one, other) => one - other);
    const [only, another] = chainId === undefined ? chainIds : [chainId];
    const chain = only === undefined || another !== undefined ? undefined : await this.models.chain(only);
    const listed = gatewayNodes(nodes, {
      chainIds,
      headBlock: chain?.head ?? null,
      domains: new Set(catchers.filter(({ isAlive }) => isAlive).map(({ document }) => document.domain)),
      areChainsFollowed: areFollowed(chainId === undefined ? chainIds : [chainId], catchers),
    });
    // Nodes of older versions announce no `partitioning`.
    const partitioning = nodes.find(({ document }) => document.partitioning)?.document.partitioning;
    if (key === undefined || !partitioning) return listed;
    return nodesForPartition(listed, partitionOfKey(partitioning, key));
  }
}

const keyOf = (chainId: number | undefined, contractAddress: string): string => {
  if (chainId === undefined) throw invalid({ path: 'chainId', message: 'is needed to say which contractAddress' });
  return contractKey(chainId, readAddressMember('contractAddress', contractAddress, [chainId]));
};
