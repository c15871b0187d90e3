import { z } from 'zod';
import { transactionEvents, type TransactionEvent } from '../../schemas/events/transaction-events.ts';
import {
  listedTransaction,
  type ListedTransaction,
  type TransactionChange,
  type TransactionStatus,
} from '../../schemas/http/onchain-routes.ts';
import { address, blockNumber, hash, hexBytes, uint } from '../../schemas/values.ts';
import { readAccountCall } from '../chain/account-call.ts';
import { toIso } from '../primitives/clock.ts';
import { readModel } from './read-model.ts';

/** By transaction id: what HTTP answers of it but the chain's own receipt, and what finds it. Never its signature. */
const transactionDocument = listedTransaction.extend({
  /** `null` of an operation that came over `/rpc`. */
  userId: z.string().nullable(),
  paymaster: address.nullable(),
  /** Where it is in the chain; `null` while it is not. */
  inclusion: z
    .object({
      transactionHash: hash,
      blockNumber,
      blockHash: hash,
      logIndex: z.int().nonnegative(),
      actualGasCostWei: uint,
      actualGasUsed: uint,
      success: z.boolean(),
      revertReason: hexBytes.nullable(),
    })
    .nullable(),
  /** Whether it can still change. */
  isOpen: z.boolean(),
  /** Position of its TxSubmitted. */
  submittedPosition: z.int(),
});
export type TransactionDocument = z.infer<typeof transactionDocument>;

/** What the user is answered, but for the receipt. */
export const listedOf = ({
  userId: _user,
  paymaster: _paymaster,
  inclusion: _inclusion,
  isOpen: _isOpen,
  submittedPosition: _submitted,
  ...listed
}: TransactionDocument): ListedTransaction => listed;

/** Operations that were accepted, over `/onchain/send` or `/rpc`, by transaction id. */
export const transactionsModel = readModel({
  name: 'transactions-v2',
  collections: {
    transaction: {
      name: 'transactions-v2',
      document: transactionDocument,
      indexes: [
        ['userId', 'submittedPosition'],
        ['chainId', 'userOpHash'],
        ['chainId', 'isOpen'],
      ],
    },
  },
  events: transactionEvents,
  touches: ({ data }) => ({ transaction: data.transactionId }),
  evolve: ({ transaction }, event) => {
    const { type, data, position } = event;
    const time = toIso(event.time);
    if (type === 'TxSubmitted') {
      // Of a request that is the app of the session, which formerly the event itself did not say.
      const { app: appId = data.appId } = event.metadata;
      return { transaction: newTransaction({ ...data, appId }, { position, time }) };
    }
    return { transaction: transaction && changed(transaction, event, time) };
  },
});

type Submitted = z.infer<typeof transactionEvents.TxSubmitted.data>;

const newTransaction = (
  { transactionId: id, operation, userId, appId, chainId, entryPoint, sender, nonce, userOpHash, sponsor }: Submitted,
  { position, time }: { position: number; time: string },
): TransactionDocument => {
  const call = readAccountCall(operation.callData);
  return {
    ...{ id, userId, appId, chainId, entryPoint, sender, nonce, userOpHash, sponsor },
    to: call?.to ?? null,
    value: call?.value ?? null,
    data: call?.data ?? null,
    paymaster: operation.paymaster,
    status: 'submitted',
    createdAt: time,
    replacedBy: null,
    history: [{ status: 'submitted', time }],
    inclusion: null,
    isOpen: true,
    submittedPosition: position,
  };
};

const changed = (
  before: TransactionDocument,
  { type, data }: Exclude<TransactionEvent, { type: 'TxSubmitted' }>,
  time: string,
): TransactionDocument => {
  const withStatus = (status: TransactionStatus, more: Omit<TransactionChange, 'status' | 'time'> = {}) => ({
    ...before,
    status,
    history: [...before.history, { status, time, ...more }],
  });
  switch (type) {
    case 'TxDelayed':
      return withStatus(before.status, data.reason === null ? {} : { reason: data.reason });
    case 'TxIncluded':
      return { ...withStatus('included', blockOf(data)), inclusion: inclusionOf(data, null) };
    case 'TxReverted': {
      const { reason } = data;
      const more = { ...blockOf(data), ...(reason !== null && { reason }) };
      return { ...withStatus('reverted', more), inclusion: inclusionOf(data, { reason }) };
    }
    case 'TxFinalized':
      return { ...(before.status === 'included' ? withStatus('final') : before), isOpen: false };
    case 'TxReorged':
      return {
        ...withStatus('submitted', { blockHash: data.blockHash }),
        inclusion: null,
        replacedBy: null,
        isOpen: true,
      };
    case 'TxReplaced':
      return { ...withStatus('replaced', { blockHash: data.blockHash }), replacedBy: data.replacedBy };
    case 'TxDropped':
      return { ...withStatus('dropped', { reason: data.reason }), isOpen: false };
  }
};

type Inclusion = z.infer<typeof transactionEvents.TxIncluded.data>;

const blockOf = ({ transactionHash, blockNumber: number, blockHash }: Inclusion) => ({
  transactionHash,
  blockNumber: number,
  blockHash,
});

const inclusionOf = (data: Inclusion, reverted: { reason: string | null } | null) => {
  const { logIndex, actualGasCostWei, actualGasUsed } = data;
  const success = reverted === null;
  return {
    ...blockOf(data),
    logIndex,
    actualGasCostWei,
    actualGasUsed,
    success,
    revertReason: reverted?.reason ?? null,
  };
};
