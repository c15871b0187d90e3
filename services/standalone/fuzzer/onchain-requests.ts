import type { SponsorshipPolicy } from '../../../schemas/events/account/app-events.ts';
import { transactionStream } from '../../../schemas/events/onchain/transaction-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { EventToAppend } from '../../../shared/event-store/event-store.ts';
import { Anvil } from '../../../shared/testing/chain/anvil.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import { idOfReplacement, newTransactionId } from '../../onchain/transactions/domain/transaction.ts';
import type { AccountUnderFuzzing } from './account-under-fuzzing.ts';
import type { Caller } from './fuzz-request.ts';
import type { ValidsByRoute } from './fuzzer.ts';
import type { Succeed } from './logins-here-requests.ts';
import { rpcRequests } from './rpc-requests.ts';

const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const ANYTHING: SponsorshipPolicy = {
  dayWei: null,
  userDayWei: null,
  operationWei: null,
  allow: [],
  anySession: false,
};
/** Nobody puts anything into its blocks. */
const UNSERVED_CHAIN_ID = 99;

/**
 * Requests that succeed on the routes about transactions. The user has one that can change no more, and one that is
 * cancelled and stays so: that may be repeated until a block has the cancellation.
 */
export const onchainRequests = async (
  account: AccountUnderFuzzing,
  { userId, caller }: { userId: string; caller: Caller },
  succeed: Succeed,
): Promise<ValidsByRoute> => {
  const { foundation, app, apps } = account;
  const chainIdOnAnvil = Anvil.chainId;
  await apps.change(app.id, { chainId: chainIdOnAnvil, policy: ANYTHING });
  const send = { caller, body: { chainId: chainIdOnAnvil, sponsor: true, transactionReq: { to: TO } } };
  await succeed('sendTransaction', send);
  const { TxSubmitted, TxDropped } = eventExamples;
  const { transactionId, chainId, userOpHash } = TxSubmitted;
  const store = (id: string, changes: object, ...more: EventToAppend[]) => {
    const data = { ...TxSubmitted, transactionId: id, userId, appId: app.id, ...changes };
    return foundation.eventStore.append(transactionStream(id), -1, [anEvent({ type: 'TxSubmitted', data }), ...more]);
  };
  await store(transactionId, {}, anEvent({ type: 'TxDropped', data: { ...TxDropped, userId } }));
  const id = newTransactionId('0'.repeat(26));
  const unserved = { chainId: UNSERVED_CHAIN_ID, sponsor: false };
  await store(id, unserved);
  await store(idOfReplacement(id, 'cancelled'), { ...unserved, replaces: id });
  const cancel = { caller, params: { id } };
  const operation = { chainId: String(chainId), hash: userOpHash };
  return {
    rpc: await rpcRequests(account, caller, succeed),
    sendTransaction: { next: () => Promise.resolve(send) },
    estimateGas: { next: () => Promise.resolve(send) },
    cancelTransaction: { next: () => Promise.resolve(cancel) },
    readReceipt: { next: () => Promise.resolve({ params: operation, query: { wait: '30' } }) },
    getTransaction: { next: () => Promise.resolve({ caller, params: { id: transactionId } }) },
    listTransactions: { next: () => Promise.resolve({ caller, query: { chainId: operation.chainId, take: '2' } }) },
  };
};
