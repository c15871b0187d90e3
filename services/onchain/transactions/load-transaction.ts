import { transactionStream } from '../../../schemas/events/onchain/transaction-events.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { transactionFold, type Transaction } from './domain/transaction.ts';

export const loadTransaction = async (
  transactor: Pick<Transactor, 'load'>,
  id: string,
): Promise<Transaction | undefined> => (await transactor.load(transactionStream(id), transactionFold)).state;
