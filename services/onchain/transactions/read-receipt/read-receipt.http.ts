import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account-routes.ts';
import type { UserOpReceipt } from '../../../schemas/http/onchain-routes.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { transactionsModel } from '../../../shared/read-models/transactions.ts';
import { ReadReceipt } from './read-receipt.handler.ts';

const { readReceipt } = accountRoutes;

/** How long a request asks to wait; 0 for what will be refused. */
const waitMsOf = (query: unknown): number => {
  const { success, data } = readReceipt.query.safeParse(query);
  return success ? (data.wait ?? 0) * 1_000 : 0;
};

@Controller()
export class ReadReceiptHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(readReceipt, { reads: [transactionsModel.name], moreTimeMs: ({ query }) => waitMsOf(query) })
  read({ params, query }: ParsedRequest<typeof readReceipt>): Promise<UserOpReceipt> {
    const { chainId, hash: userOpHash } = params;
    return this.queries.execute(new ReadReceipt({ chainId, userOpHash }, waitMsOf(query)));
  }
}
