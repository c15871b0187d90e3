import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { Transaction, TransactionPage } from '../../../schemas/http/onchain-routes.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import { GetTransaction, ListTransactions } from './list-transactions.handler.ts';

const { getTransaction, listTransactions } = accountRoutes;

@Controller()
export class ListTransactionsHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(listTransactions, { reads: [transactionsModel.name] })
  list({ query, caller }: ParsedRequest<typeof listTransactions>): Promise<TransactionPage> {
    return this.queries.execute(new ListTransactions(caller.userId, query, caller.appId));
  }

  @Implements(getTransaction, { reads: [transactionsModel.name] })
  get({ params, caller }: ParsedRequest<typeof getTransaction>): Promise<Transaction> {
    return this.queries.execute(new GetTransaction(caller.userId, params.id, caller.appId));
  }
}
