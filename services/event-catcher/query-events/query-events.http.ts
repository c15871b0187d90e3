import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type EventPage } from '../../../schemas/http/event-catcher-routes.ts';
import { readModels } from '../../../schemas/read-models/catalogue.ts';
import { Implements, type Asked } from '../../../shared/edge/implements.ts';
import { argumentsOf } from './argument-filter.ts';
import { QueryEvents } from './query-events.query.ts';

const { queryEvents } = eventCatcherRoutes;
const { watches, chains, chainEvents } = readModels;

@Controller()
export class QueryEventsHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(queryEvents, { reads: [watches.projection, chains.projection, chainEvents.projection] })
  async query({ query }: Asked<typeof queryEvents>): Promise<EventPage> {
    return this.queries.execute(new QueryEvents({ ...query, arguments: argumentsOf(query) }));
  }
}
