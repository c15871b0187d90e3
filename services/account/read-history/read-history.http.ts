import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes, type HistoryPage } from '../../../schemas/http/account-routes.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { historyModel } from '../../../shared/read-models/history.ts';
import { ReadHistory } from './read-history.handler.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';

const { readHistory } = accountRoutes;

@Controller()
export class ReadHistoryHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(readHistory, { reads: [historyModel.name] })
  read({ params, query, caller }: ParsedRequest<typeof readHistory>): Promise<HistoryPage> {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can read this history');
    return this.queries.execute(new ReadHistory(params.id, query));
  }
}
