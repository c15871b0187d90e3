import { transactionStream } from '../../../schemas/events/transaction-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import type { AccountUnderFuzzing } from './account-under-fuzzing.ts';
import type { Caller } from './fuzz-request.ts';
import type { ValidsByRoute } from './fuzzer.ts';

/** Requests that succeed on the routes about transactions, of which the user has one that can change no more. */
export const onchainRequests = async (
  { foundation }: AccountUnderFuzzing,
  { userId, caller }: { userId: string; caller: Caller },
): Promise<ValidsByRoute> => {
  const { TxSubmitted, TxDropped } = eventExamples;
  const { transactionId, chainId, userOpHash } = TxSubmitted;
  await foundation.eventStore.append(transactionStream(transactionId), -1, [
    anEvent({ type: 'TxSubmitted', data: { ...TxSubmitted, userId } }),
    anEvent({ type: 'TxDropped', data: { ...TxDropped, userId } }),
  ]);
  const operation = { chainId: String(chainId), hash: userOpHash };
  return {
    readReceipt: { next: () => Promise.resolve({ params: operation, query: { wait: '30' } }) },
    getTransaction: { next: () => Promise.resolve({ caller, params: { id: transactionId } }) },
    listTransactions: { next: () => Promise.resolve({ caller, query: { chainId: operation.chainId, take: '2' } }) },
  };
};
