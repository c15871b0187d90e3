import type { Provider } from '@nestjs/common';
import { CLOCK, READ_STORE } from '../../shared/edge/tokens.ts';
import type { Clock } from '../../shared/primitives/clock.ts';
import type { ReadStore } from '../../shared/read-store/read-store.ts';
import { LATEST_STATES, type LatestStates } from './edge/latest-states.ts';
import { OperationReceipts } from './edge/operation-receipts.ts';
import { TransactionChanges } from './edge/transaction-changes.ts';
import { GetTransactionHandler, ListTransactionsHandler } from './list-transactions/list-transactions.handler.ts';
import { ListTransactionsHttp } from './list-transactions/list-transactions.http.ts';
import { ReadReceiptHandler } from './read-receipt/read-receipt.handler.ts';
import { ReadReceiptHttp } from './read-receipt/read-receipt.http.ts';

/** What became of transactions. */
export const onchainReadControllers = [ReadReceiptHttp, ListTransactionsHttp];

export const onchainReadProviders: Provider[] = [
  {
    provide: OperationReceipts,
    useFactory: (chains: LatestStates, clock: Clock) => new OperationReceipts(chains, clock),
    inject: [LATEST_STATES, CLOCK],
  },
  {
    provide: TransactionChanges,
    useFactory: (readStore: ReadStore) => new TransactionChanges(readStore),
    inject: [READ_STORE],
  },
  ReadReceiptHandler,
  GetTransactionHandler,
  ListTransactionsHandler,
];
