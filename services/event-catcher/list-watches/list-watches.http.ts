import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type WatchedContracts } from '../../../schemas/http/event-catcher-routes.ts';
import type { WatchedContract } from '../../../schemas/http/watched-contract.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import { watchesModel } from '../../../shared/read-models/watches.ts';
import { GetWatch, ListWatches } from './list-watches.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';

const { listContracts, getContract } = eventCatcherRoutes;
const reads = [watchesModel.name, chainsModel.name];

@Controller()
export class ListWatchesHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(listContracts, { reads })
  list({ query }: ParsedRequest<typeof listContracts>): Promise<WatchedContracts> {
    return this.queries.execute(new ListWatches(query));
  }

  @Implements(getContract, { reads })
  get({ params }: ParsedRequest<typeof getContract>): Promise<WatchedContract> {
    return this.queries.execute(new GetWatch(params.id));
  }
}
