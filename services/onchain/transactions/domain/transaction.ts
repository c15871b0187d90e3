import { createHash } from 'node:crypto';
import type { TransactionEvent } from '../../../../schemas/events/onchain/transaction-events.ts';
import { encodeToken } from '../../../../shared/primitives/ids.ts';
import { openOperation, type UserOperation } from '../../operations/domain/user-operation.ts';

type DataOf<Type extends TransactionEvent['type']> = Extract<TransactionEvent, { type: Type }>['data'];
export type Submission = DataOf<'TxSubmitted'>;
/** The inclusion of an operation in a block. */
export type Inclusion = Pick<
  DataOf<'TxReverted'>,
  | 'transactionHash'
  | 'blockNumber'
  | 'blockHash'
  | 'logIndex'
  | 'actualGasCostWei'
  | 'actualGasUsed'
  | 'deployed'
  | 'reason'
> & { success: boolean };

export type TransactionStatus = 'submitted' | 'included' | 'reverted' | 'replaced' | 'dropped';

/** One signed operation, and its status. */
export interface Transaction {
  submission: Submission;
  /** Unix milliseconds. */
  submittedAt: number;
  status: TransactionStatus;
  /** The block that contains the operation, or its replacement; `undefined` if there is none. */
  block: { hash: string; number?: number } | undefined;
  /** Whether a block that used its nonce has left the chain: meanwhile the next nonce of its key may have been given away. */
  wasInBlock: boolean;
  /** Whether the status cannot change any more. */
  isFinal: boolean;
  /** Why the operation waits; `null` if it does not wait. */
  delayedBy: string | null;
}
type State = Transaction | undefined;

/** The reason for operations that `debug_bundler_clearState` took out of the mempool. */
export const TAKEN_OUT = 'debug_bundler_clearState took it out of the mempool: send it again';

const ID_CHARACTERS = 26;
const idFrom = (text: string): string => `tx_${encodeToken(createHash('sha256').update(text).digest(), ID_CHARACTERS)}`;

/** Returns the id of the transaction of a stored request: the same for every repeat of the request. */
export const idOfRequest = (receivedId: string): string => idFrom(`request ${receivedId}`);
export const newTransactionId = (token26: string): string => `tx_${token26}`;
/** Returns the id of an operation that the client signed. */
export const idOfOperation = (chainId: number, entryPoint: string, userOpHash: string): string =>
  idFrom(`operation ${String(chainId)} ${entryPoint} ${userOpHash}`);
/** Returns the id of the transaction that takes the nonce of another one. */
export const idOfReplacement = (transactionId: string, why: 'cancelled' | 'signed anew'): string =>
  idFrom(`${why} ${transactionId}`);

export const transactionFold = {
  initial: undefined as State,
  evolve: (transaction: State, { type, data }: TransactionEvent, time: number): State => {
    if (type === 'TxSubmitted') {
      return {
        submission: data,
        submittedAt: time,
        status: 'submitted',
        block: undefined,
        wasInBlock: false,
        isFinal: false,
        delayedBy: null,
      };
    }
    if (!transaction) return undefined;
    const known = { ...transaction, delayedBy: null };
    switch (type) {
      case 'TxDelayed':
        return { ...transaction, delayedBy: data.reason };
      case 'TxIncluded':
        return { ...known, status: 'included', block: { hash: data.blockHash, number: data.blockNumber } };
      case 'TxReverted':
        return { ...known, status: 'reverted', block: { hash: data.blockHash, number: data.blockNumber } };
      case 'TxReplaced':
        return { ...known, status: 'replaced', block: { hash: data.blockHash } };
      case 'TxReorged':
        return { ...known, status: 'submitted', block: undefined, wasInBlock: true, isFinal: false };
      case 'TxFinalized':
        return { ...known, isFinal: true };
      case 'TxDropped':
        return { ...known, status: 'dropped', isFinal: true };
    }
  },
};

export const operationOf = ({ submission }: Transaction): UserOperation => openOperation(submission.operation);

export const submit = (transaction: State, submission: Submission): TransactionEvent[] =>
  transaction ? [] : [{ type: 'TxSubmitted', data: submission }];

/** A block contains the operation. */
export const include = (transaction: State, { success, reason, ...block }: Inclusion): TransactionEvent[] => {
  if (!transaction || (transaction.status !== 'replaced' && transaction.block?.hash === block.blockHash)) return [];
  const data = { ...subject(transaction), ...block };
  return [
    ...leave(transaction),
    success ? { type: 'TxIncluded', data } : { type: 'TxReverted', data: { ...data, reason } },
  ];
};

/** A block contains another operation of the same nonce. */
export const replace = (
  transaction: State,
  { replacedBy, blockHash }: { replacedBy: string; blockHash: string },
): TransactionEvent[] => {
  if (!transaction || transaction.isFinal || transaction.block?.hash === blockHash) return [];
  return [...leave(transaction), { type: 'TxReplaced', data: { ...subject(transaction), replacedBy, blockHash } }];
};

/** The block of the operation, or of its replacement, left the chain. */
export const reorganise = (transaction: State, blockHash: string): TransactionEvent[] =>
  transaction && !transaction.isFinal && transaction.block?.hash === blockHash ? leave(transaction) : [];

/** The block of the operation, or of its replacement, is final. */
export const finalise = (transaction: State): TransactionEvent[] =>
  transaction?.block && !transaction.isFinal ? [{ type: 'TxFinalized', data: subject(transaction) }] : [];

/** The operation can never be included. */
export const drop = (transaction: State, reason: string): TransactionEvent[] =>
  transaction?.status === 'submitted' ? [{ type: 'TxDropped', data: { ...subject(transaction), reason } }] : [];

/** @param reason `null` when the operation does not wait any more */
export const delay = (transaction: State, reason: string | null): TransactionEvent[] =>
  transaction?.status === 'submitted' && transaction.delayedBy !== reason
    ? [{ type: 'TxDelayed', data: { ...subject(transaction), reason } }]
    : [];

/** The same operation was sent again after `debug_bundler_clearState`. */
export const putBack = (transaction: State): TransactionEvent[] =>
  transaction?.delayedBy === TAKEN_OUT ? delay(transaction, null) : [];

const leave = (transaction: Transaction): TransactionEvent[] =>
  transaction.block
    ? [{ type: 'TxReorged', data: { ...subject(transaction), blockHash: transaction.block.hash } }]
    : [];

const subject = ({ submission }: Transaction): DataOf<'TxFinalized'> => {
  const { transactionId, userId, appId, chainId, sender, nonce, userOpHash } = submission;
  return { transactionId, userId, appId, chainId, sender, nonce, userOpHash };
};
