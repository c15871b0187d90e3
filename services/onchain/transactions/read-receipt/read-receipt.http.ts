import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { transactionsModel } from '../../../../shared/read-models/onchain/transactions.ts';
import { ReadReceipt } from './read-receipt.handler.ts';

const { readReceipt } = accountRoutes;

/** How long a request asks to wait; 0 if the request will be refused. */
const waitMsOf = (query: unknown): number => {
  const { success, data } = readReceipt.query.safeParse(query);
  return success ? (data.wait ?? 0) * 1_000 : 0;
};

@Controller()
export class ReadReceiptHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(readReceipt, { reads: [transactionsModel.name], moreTimeMs: ({ query }) => waitMsOf(query) })
  read({ params, query }: ParsedRequest<typeof readReceipt>) {
    const { chainId, hash: userOpHash } = params;
    return this.queries.execute(new ReadReceipt({ chainId, userOpHash }, waitMsOf(query)));
  }
}
