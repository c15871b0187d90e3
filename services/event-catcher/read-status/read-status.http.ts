import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type WatchStatus } from '../../../schemas/http/event-catcher-routes.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { Implements, type Asked } from '../../../shared/edge/implements.ts';
import { ReadStatus } from './read-status.query.ts';

const { readStatus } = eventCatcherRoutes;
const { watches, chains, chainEventCounts } = readModels;

@Controller()
export class ReadStatusHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(readStatus, { reads: [watches.projection, chains.projection, chainEventCounts.projection] })
  read({ params }: Asked<typeof readStatus>): Promise<WatchStatus> {
    return this.queries.execute(new ReadStatus(params));
  }
}
