import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { AsOfParameter } from '../../../../shared/edge/requests/as-of.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import { GetTransaction, ListTransactions } from './list-transactions.handler.ts';
import { TransactionCursors, type TransactionCursor } from './transaction-cursors.ts';

const { getTransaction, listTransactions } = accountRoutes;

@Controller()
export class ListTransactionsHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly cursors: TransactionCursors,
    private readonly asOf: AsOfParameter,
  ) {}

  @Implements(listTransactions, { reads: [transactionsModel.name] })
  async list({ query: { chainId, take, ...query }, caller, context }: ParsedRequest<typeof listTransactions>) {
    const { before, asOf } = await this.place(caller.userId, query);
    if (asOf) context.showAsOf(asOf.position);
    const asking = { ...caller, ended: context.ended() };
    return this.queries.execute(new ListTransactions(asking, { chainId, take, before, asOf }));
  }

  @Implements(getTransaction, { reads: [transactionsModel.name] })
  async get({ params, query, caller, context }: ParsedRequest<typeof getTransaction>) {
    const asOf = query.asOf === undefined ? undefined : await this.asOf.read(query.asOf);
    if (asOf) context.showAsOf(asOf.position);
    const asking = { ...caller, ended: context.ended() };
    return this.queries.execute(new GetTransaction(asking, params.id, asOf?.position));
  }

  /** Returns where the page begins, and the state that it shows: that of the first page. */
  private async place(
    userId: string,
    { cursor, asOf: text }: { cursor?: string | undefined; asOf?: string | undefined },
  ): Promise<Partial<TransactionCursor>> {
    if (cursor !== undefined) return this.cursors.read(userId, cursor, text);
    if (text === undefined) return {};
    const { position } = await this.asOf.read(text);
    return { asOf: { text, position } };
  }
}
