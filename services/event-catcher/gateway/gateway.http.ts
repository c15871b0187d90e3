import { Controller } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { gatewayRoutes, type GatewayNode } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import { Implements, type CommandAnswer, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import { ListNodes } from './list-nodes.handler.ts';
import { ValidateAccess } from './validate-access.handler.ts';

const { listNodes, validateAccess } = gatewayRoutes;

@Controller()
export class GatewayHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly commands: CommandBus,
  ) {}

  @Implements(listNodes, { reads: [chainsModel.name] })
  async list({ query }: ParsedRequest<typeof listNodes>): Promise<{ nodes: GatewayNode[] }> {
    return { nodes: await this.queries.execute(new ListNodes(query.chainId, query.contractAddress)) };
  }

  @Implements(validateAccess)
  async validate({
    body,
    context,
  }: ParsedRequest<typeof validateAccess>): Promise<
    CommandAnswer<{ success: true; connectionToken: string; expiresAt: string }>
  > {
    const { token, expiresAtMs, position } = await this.commands.execute(
      new ValidateAccess(body, context.metadata, context.callerIsKnown),
    );
    return { body: { success: true, connectionToken: token, expiresAt: toIso(expiresAtMs) }, position };
  }
}
