import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type WatchedContracts } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { QueriedContract } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import { watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import { AsOfParameter } from '../../../shared/edge/requests/as-of.ts';
import { GetWatch, ListWatches } from './list-watches.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import type { RequestContext } from '../../../shared/edge/requests/request-context.ts';

const { listContracts, getContract } = eventCatcherRoutes;
const reads = [watchesModel.name, chainsModel.name];

@Controller()
export class ListWatchesHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly asOf: AsOfParameter,
  ) {}

  @Implements(listContracts, { reads })
  async list({ query, context }: ParsedRequest<typeof listContracts>): Promise<WatchedContracts> {
    return this.queries.execute(new ListWatches(query, await this.readAsOf(query, context)));
  }

  @Implements(getContract, { reads })
  async get({ params, query, context }: ParsedRequest<typeof getContract>): Promise<QueriedContract> {
    return this.queries.execute(new GetWatch(params.id, await this.readAsOf(query, context)));
  }

  private async readAsOf({ asOf }: { asOf?: string | undefined }, context: RequestContext) {
    if (asOf === undefined) return undefined;
    const { position } = await this.asOf.read(asOf);
    context.showAsOf(position);
    return position;
  }
}
