import { z } from 'zod';
import { address, blockNumber, chainId, hash, hexBytes, isoTime, uint } from '../../values.ts';
import { event, type EventOf, type Held } from '../event.ts';
import { lasting } from '../held.ts';
import { userOperation } from './user-operation.ts';

export const transactionStream = (transactionId: string): string => `transaction-${transactionId}`;

const sentTransaction: Held = {
  purpose: 'to carry out what the user asked for, and to show what became of it',
  retention: lasting('operations, which a chain has too'),
};
const audited = { isAudited: true, held: sentTransaction };

/** What each event of a transaction says of it. */
const transaction = z.object({
  transactionId: z.string(),
  /** `null` of an operation that came over `/rpc`. */
  userId: z.string().nullable(),
  /** Whose session sent it; before `payingAppId` was there, of a sponsored one the app that pays. */
  appId: z.string(),
  chainId,
  sender: address,
  nonce: uint,
  userOpHash: hash,
});

const inclusion = transaction.extend({
  transactionHash: hash,
  blockNumber,
  blockHash: hash,
  /** Of its UserOperationEvent. */
  logIndex: z.int().nonnegative(),
  actualGasCostWei: uint,
  actualGasUsed: uint,
  /** Whether it deployed the account. */
  deployed: z.boolean(),
});

/** Stream `transaction-<id>`: the life of one signed operation. */
export const transactionEvents = {
  /** It is executed at most once: no other operation is ever signed for this sender and nonce but one that replaces it. */
  TxSubmitted: event(
    1,
    transaction.extend({
      entryPoint: address,
      operation: userOperation,
      sponsor: z.boolean(),
      /** Where another app pays than `appId`. */
      payingAppId: z.string().exactOptional(),
      maxCostWei: uint,
      /** Whether the caller chose the tip, so that this service signs no higher one. Absent: nobody knows any more. */
      hasChosenTip: z.boolean().exactOptional(),
      /** Until when the paymaster's signature counts; `null` without one. */
      validUntil: isoTime.nullable(),
      /** The head of the chain when it was signed: no earlier block has it, but for a reorganisation. */
      headBlock: blockNumber,
      /** The transaction that it takes the nonce from: because that one was cancelled, or has to be signed anew. */
      replaces: z.string().nullable(),
    }),
    // Whoever has it may submit the operation.
    { ...audited, unpublished: { operation: ['signature'] } },
  ),
  /** It cannot go on for now, and waits; no reason: it goes on. */
  TxDelayed: event(1, transaction.extend({ reason: z.string().nullable() }), audited),
  TxIncluded: event(1, inclusion, audited),
  /** Included, and the call failed. */
  TxReverted: event(1, inclusion.extend({ reason: hexBytes.nullable() }), audited),
  TxFinalized: event(1, transaction, audited),
  /** The block that had it, or that had what replaced it, left the chain: it is `submitted` again. */
  TxReorged: event(1, transaction.extend({ blockHash: hash }), audited),
  /** Another operation of its nonce was included. */
  TxReplaced: event(1, transaction.extend({ replacedBy: hash, blockHash: hash }), audited),
  /** It can never be included. */
  TxDropped: event(1, transaction.extend({ reason: z.string() }), audited),
};
export type TransactionEvent = EventOf<typeof transactionEvents>;
