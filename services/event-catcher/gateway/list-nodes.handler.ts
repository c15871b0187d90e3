import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { GatewayNode } from '../../../schemas/http/gateway-routes.ts';
import { areFollowed, gatewayNodes } from '../domain/gateway-nodes.ts';
import { CATCHERS, NODES, type Catchers, type Nodes } from '../edge/ports.ts';
import { WatchModels } from '../edge/watch-models.ts';

/** The nodes that serve a chain, or all of them. */
export class ListNodes extends Query<GatewayNode[]> {
  constructor(readonly chainId: number | undefined) {
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

  async execute({ chainId }: ListNodes): Promise<GatewayNode[]> {
    const [nodes, catchers] = await Promise.all([this.nodes.current(), this.catchers.current()]);
    // Each node streams what all catchers store.
    const all = new Set(catchers.flatMap(({ document }) => document.chainIds));
    if (chainId !== undefined && !all.has(chainId)) return [];
    const chainIds = [...all].sort((one, other) => one - other);
    const [only, another] = chainId === undefined ? chainIds : [chainId];
    const chain = only === undefined || another !== undefined ? undefined : await this.models.chain(only);
    return gatewayNodes(nodes, {
      chainIds,
      headBlock: chain?.head ?? null,
      domains: new Set(catchers.filter(({ isAlive }) => isAlive).map(({ document }) => document.domain)),
      areChainsFollowed: areFollowed(chainId === undefined ? chainIds : [chainId], catchers),
    });
  }
}
