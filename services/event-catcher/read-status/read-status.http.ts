import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eventCatcherRoutes } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import type { WatchStatus } from '../../../schemas/http/event-catcher/watched-contract.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import { watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import { ReadStatus } from './read-status.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';

const { readStatus } = eventCatcherRoutes;

@Controller()
export class ReadStatusHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(readStatus, { reads: [watchesModel.name, chainsModel.name, chainEventsModel.name] })
  read({ params, query }: ParsedRequest<typeof readStatus>): Promise<WatchStatus> {
    return this.queries.execute(new ReadStatus({ ...params, ...query }));
  }
}
