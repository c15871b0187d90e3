import { z } from 'zod';
import { address, addressInput, blockNumber, chainId, hash, hashInput, hexBytes, isoTime, uint } from '../../values.ts';
import { operationReceipt } from './operation-receipt.ts';
import { asOf } from '../as-of.ts';
import { route } from '../route.ts';

const account = { service: 'account' } as const;
const transactionId = z.object({ id: z.string().min(1).max(128) });
const chainIdInput = z.coerce.number().pipe(chainId);

const DATA_BYTES_MAX = 32_768;
/** `0x` and two digits a byte. */
const DATA_CHARACTERS_MAX = 2 + 2 * DATA_BYTES_MAX;

/** The body of send and estimate. */
export const transactionRequest = z.object({
  chainId,
  sponsor: z.boolean().describe('whether an app pays for the gas'),
  transactionReq: z.object({
    to: addressInput,
    value: uint.default('0').describe('wei'),
    data: z
      .string()
      .max(DATA_CHARACTERS_MAX, 'is more than 32 KiB')
      .regex(/^0x(?:[0-9a-fA-F]{2})*$/, 'is not bytes: 0x and pairs of hex digits')
      .toLowerCase()
      .default('0x'),
    maxPriorityFeePerGas: uint
      .refine((text) => BigInt(text) < 2n ** 64n, 'is 2^64 or more')
      .exactOptional()
      .describe('wei; without it what the node of the chain suggests, at most 3 gwei'),
  }),
  appApiKey: z
    .string()
    .max(128)
    .exactOptional()
    .describe("of the app whose sponsorship pays; default: the session's app"),
});
export type TransactionRequest = z.output<typeof transactionRequest>;

/** What stays so for the life of a transaction. */
const submitted = z.object({
  id: z.string(),
  userOpHash: hash,
  sender: address,
  chainId,
  entryPoint: address,
  nonce: uint,
  sponsor: z.boolean(),
});

export const sentTransaction = submitted.extend({ status: z.literal('submitted'), createdAt: isoTime });
export type SentTransaction = z.infer<typeof sentTransaction>;

export const gasEstimate = z.object({
  callGasLimit: uint,
  verificationGasLimit: uint,
  preVerificationGas: uint,
  paymasterVerificationGasLimit: uint,
  paymasterPostOpGasLimit: uint,
  maxFeePerGas: uint,
  maxPriorityFeePerGas: uint,
  maxCost: uint.describe('wei: the five gas members times maxFeePerGas, without value'),
  sponsored: z.boolean().describe('whether sponsorship was asked for and every rule would allow it now'),
});
export type GasEstimate = z.infer<typeof gasEstimate>;

export const transactionStatus = z
  .enum(['submitted', 'included', 'final', 'reverted', 'dropped', 'replaced'])
  .describe('reverted: included, and the call failed; it stays so when it is final');
export type TransactionStatus = z.infer<typeof transactionStatus>;

const replacedBy = hash.nullable().describe('the hash of the operation that took its nonce');

export const userOpReceipt = z.object({
  userOpHash: hash,
  status: transactionStatus,
  confirmations: z.int().nonnegative().describe('blocks from the one that has it on; 0 until then'),
  receipt: operationReceipt.nullable().describe('null until it is included'),
  replacedBy,
});
export type UserOpReceipt = z.infer<typeof userOpReceipt>;

export const transactionChange = z.object({
  status: transactionStatus,
  time: isoTime,
  reason: z.string().exactOptional(),
  transactionHash: hash.exactOptional(),
  blockNumber: blockNumber.exactOptional(),
  blockHash: hash.exactOptional(),
});
export type TransactionChange = z.infer<typeof transactionChange>;

/** A transaction as a list has it: its receipt, which holds the whole bundle's, is asked for by its id. */
export const listedTransaction = submitted.extend({
  appId: z.string(),
  to: address.nullable().describe('null where the operation does not make exactly one call'),
  value: uint.nullable(),
  data: hexBytes.nullable(),
  status: transactionStatus,
  createdAt: isoTime,
  replacedBy,
  history: z.array(transactionChange).describe('oldest first'),
});
export type ListedTransaction = z.infer<typeof listedTransaction>;

export const transaction = listedTransaction.extend({
  receipt: operationReceipt
    .nullable()
    .describe('null until it is included; as of an earlier time also where the block has left the chain since'),
});
export type Transaction = z.infer<typeof transaction>;

export const transactionPage = z.object({
  items: z.array(listedTransaction),
  take: z.int().positive(),
  next: z.string().nullable().describe('the cursor of the next page; null on the last page'),
});
export type TransactionPage = z.infer<typeof transactionPage>;

export const onchainRoutes = {
  sendTransaction: route({
    ...account,
    method: 'POST',
    path: '/onchain/send',
    summary: 'Send a transaction from the own smart account; it is executed at most once, whatever happens',
    auth: 'bearer',
    rateLimit: 'send',
    command: true,
    body: transactionRequest,
    status: 201,
    answer: sentTransaction,
    problems: [
      'forbidden',
      'chain_not_supported',
      'api_key_unknown',
      'sponsorship_refused',
      'execution_reverted',
      'insufficient_funds',
      'user_op_rejected',
    ],
  }),
  estimateGas: route({
    ...account,
    method: 'POST',
    path: '/onchain/estimate-user-op-gas',
    summary: 'What a transaction would cost; nothing is sent or reserved',
    auth: 'bearer',
    body: transactionRequest,
    status: 201,
    answer: gasEstimate,
    problems: ['chain_not_supported', 'api_key_unknown', 'execution_reverted', 'user_op_rejected'],
  }),
  readReceipt: route({
    ...account,
    method: 'GET',
    path: '/onchain/user-op-receipt/{chainId}/{hash}',
    summary: 'What became of a user operation that this service accepted',
    auth: 'none',
    params: z.object({ chainId: chainIdInput, hash: hashInput }),
    query: z.object({
      wait: z.coerce
        .number()
        .pipe(z.int().min(1).max(30))
        .optional()
        .describe('seconds: answers on the next change, or after that time'),
    }),
    status: 200,
    answer: userOpReceipt,
    problems: ['user_op_not_found', 'not_caught_up'],
  }),
  getTransaction: route({
    ...account,
    method: 'GET',
    path: '/onchain/transactions/{id}',
    summary: 'The life of one of the own transactions',
    auth: 'bearer',
    params: transactionId,
    query: z.object({ asOf }),
    status: 200,
    answer: transaction,
    problems: ['transaction_not_found', 'not_caught_up'],
  }),
  listTransactions: route({
    ...account,
    method: 'GET',
    path: '/onchain/transactions',
    summary: 'The own transactions, newest first',
    auth: 'bearer',
    query: z.object({
      chainId: chainIdInput.optional(),
      take: z.coerce.number().pipe(z.int().min(1).max(1_000)).default(10),
      cursor: z.string().optional().describe('next of the previous page, whose asOf it keeps'),
      asOf,
    }),
    status: 200,
    answer: transactionPage,
    problems: ['cursor_invalid', 'not_caught_up'],
  }),
  cancelTransaction: route({
    ...account,
    method: 'DELETE',
    path: '/onchain/transactions/{id}',
    summary: 'Cancel an unsponsored transaction by an operation that does nothing at its nonce, which is answered',
    auth: 'bearer',
    command: true,
    params: transactionId,
    status: 202,
    answer: sentTransaction,
    problems: [
      'forbidden',
      'transaction_not_found',
      'not_cancellable',
      'chain_not_supported',
      'insufficient_funds',
      'user_op_rejected',
    ],
  }),
};
