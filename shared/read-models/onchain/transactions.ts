import { z } from 'zod';
import { transactionEvents, type TransactionEvent } from '../../../schemas/events/onchain/transaction-events.ts';
import {
  listedTransaction,
  type ListedTransaction,
  type TransactionChange,
  type TransactionStatus,
} from '../../../schemas/http/onchain/onchain-routes.ts';
import { address, hexBytes } from '../../../schemas/values.ts';
import { readAccountCalls } from '../../chain/identifiers/account-call.ts';
import { toIso } from '../../primitives/clock.ts';
import { readModel } from '../read-model.ts';

const inclusion = transactionEvents.TxIncluded.data.pick({
  ...{ transactionHash: true, blockNumber: true, blockHash: true },
  ...{ logIndex: true, actualGasCostWei: true, actualGasUsed: true },
});

/**
 * By transaction id: the transaction as HTTP answers it, without the chain's receipt, and the members that find it.
 * Never contains its signature.
 */
const transactionDocument = listedTransaction.extend({
  /** `null` for an operation submitted over `/rpc`. */
  userId: z.string().nullable(),
  paymaster: address.nullable(),
  /** The operation's place in the chain; `null` while it is not included. */
  inclusion: inclusion.extend({ success: z.boolean(), revertReason: hexBytes.nullable() }).nullable(),
  /** Whether the transaction can still change. */
  isOpen: z.boolean(),
  /** Position of its `TxSubmitted`. */
  submittedPosition: z.int(),
});
export type TransactionDocument = z.infer<typeof transactionDocument>;

/** Returns the part of the document that the user receives, without the receipt. */
export const listedOf = ({
  userId: _user,
  paymaster: _paymaster,
  inclusion: _inclusion,
  isOpen: _isOpen,
  submittedPosition: _submitted,
  ...listed
}: TransactionDocument): ListedTransaction => listed;

/** Accepted operations, from `/onchain/send` or `/rpc`, by transaction id. */
export const transactionsModel = readModel({
  name: 'transactions-v3',
  collections: {
    transaction: {
      name: 'transactions-v3',
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
      return { transaction: newTransaction(data, { position, time }) };
    }
    return { transaction: transaction && changed(transaction, event, time) };
  },
});

type Submitted = z.infer<typeof transactionEvents.TxSubmitted.data>;

const newTransaction = (
  { transactionId: id, operation, userId, appId, chainId, entryPoint, sender, nonce, userOpHash, sponsor }: Submitted,
  { position, time }: { position: number; time: string },
): TransactionDocument => {
  const calls = readAccountCalls(operation.callData);
  const call = calls?.length === 1 ? calls[0] : undefined;
  return {
    ...{ id, userId, appId, chainId, entryPoint, sender, nonce, userOpHash, sponsor },
    to: call?.to ?? null,
    value: call?.value.toString() ?? null,
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
  const gas = { actualGasCostWei, actualGasUsed };
  return { ...blockOf(data), logIndex, ...gas, success: reverted === null, revertReason: reverted?.reason ?? null };
};
