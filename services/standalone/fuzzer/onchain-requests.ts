import type { SponsorshipPolicy } from '../../../schemas/events/app-events.ts';
import { transactionStream } from '../../../schemas/events/transaction-events.ts';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import type { SentTransaction } from '../../../schemas/http/onchain-routes.ts';
import { Anvil } from '../../../shared/testing/anvil.ts';
import { anEvent } from '../../../shared/testing/event-builder.ts';
import type { AccountUnderFuzzing } from './account-under-fuzzing.ts';
import type { Caller } from './fuzz-request.ts';
import type { ValidsByRoute } from './fuzzer.ts';
import type { Succeed } from './login-requests.ts';
import { rpcRequests } from './rpc-requests.ts';

const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const ANYTHING: SponsorshipPolicy = {
  dayWei: null,
  userDayWei: null,
  operationWei: null,
  allow: [],
  anySession: false,
};
const ETHER_HEX = `0x${(10n ** 18n).toString(16)}`;

/**
 * Requests that succeed on the routes about transactions. The user has one that can change no more, and one that is
 * cancelled: that may be repeated.
 */
export const onchainRequests = async (
  account: AccountUnderFuzzing,
  { userId, caller }: { userId: string; caller: Caller },
  succeed: Succeed,
): Promise<ValidsByRoute> => {
  const { foundation, anvil, app, apps } = account;
  const chainIdOnAnvil = Anvil.chainId;
  await apps.change(app.id, { chainId: chainIdOnAnvil, policy: ANYTHING });
  const send = (sponsor: boolean) => ({
    caller,
    body: { chainId: chainIdOnAnvil, sponsor, transactionReq: { to: TO } },
  });
  const { sender } = (await succeed('sendTransaction', send(true))) as SentTransaction;
  await anvil.call('anvil_setBalance', sender, ETHER_HEX);
  await anvil.call('evm_setAutomine', false);
  const { id } = (await succeed('sendTransaction', send(false))) as SentTransaction;
  const cancel = { caller, params: { id } };
  await succeed('cancelTransaction', cancel);
  await anvil.call('evm_setAutomine', true);
  const { TxSubmitted, TxDropped } = eventExamples;
  const { transactionId, chainId, userOpHash } = TxSubmitted;
  await foundation.eventStore.append(transactionStream(transactionId), -1, [
    anEvent({ type: 'TxSubmitted', data: { ...TxSubmitted, userId } }),
    anEvent({ type: 'TxDropped', data: { ...TxDropped, userId } }),
  ]);
  const operation = { chainId: String(chainId), hash: userOpHash };
  return {
    rpc: await rpcRequests(account, caller, succeed),
    sendTransaction: { next: () => Promise.resolve(send(true)) },
    estimateGas: { next: () => Promise.resolve(send(true)) },
    cancelTransaction: { next: () => Promise.resolve(cancel) },
    readReceipt: { next: () => Promise.resolve({ params: operation, query: { wait: '30' } }) },
    getTransaction: { next: () => Promise.resolve({ caller, params: { id: transactionId } }) },
    listTransactions: { next: () => Promise.resolve({ caller, query: { chainId: operation.chainId, take: '2' } }) },
  };
};
