import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import {
  eventCatcherRoutes,
  type WatchedContract,
  type WatchedContracts,
} from '../../../schemas/http/event-catcher-routes.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { Implements, type Asked } from '../../../shared/edge/implements.ts';
import { GetWatch, ListWatches } from './list-watches.query.ts';

const { listContracts, getContract } = eventCatcherRoutes;
const reads = [readModels.watches.projection, readModels.chains.projection];

@Controller()
export class ListWatchesHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(listContracts, { reads })
  list({ query }: Asked<typeof listContracts>): Promise<WatchedContracts> {
    return this.queries.execute(new ListWatches(query));
  }

  @Implements(getContract, { reads })
  get({ params }: Asked<typeof getContract>): Promise<WatchedContract> {
    return this.queries.execute(new GetWatch(params.id));
  }
}
