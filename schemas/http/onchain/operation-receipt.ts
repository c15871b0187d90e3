import { z } from 'zod';
import { address, hash, hexBytes } from '../../values.ts';

/** An amount as Ethereum's JSON-RPC writes it. */
export const quantity = z.string().regex(/^0x(?:0|[1-9a-f][0-9a-f]{0,63})$/, 'is not a quantity: 0x and hex digits');

export const operationLog = z.object({
  address,
  topics: z.array(hash),
  data: hexBytes,
  blockHash: hash,
  blockNumber: quantity,
  transactionHash: hash,
  transactionIndex: quantity,
  logIndex: quantity,
  removed: z.literal(false),
});
export type OperationLog = z.infer<typeof operationLog>;

/** The receipt of the transaction that has the operation, which may have others too. */
export const bundleReceipt = z.object({
  transactionHash: hash,
  transactionIndex: quantity,
  blockHash: hash,
  blockNumber: quantity,
  from: address,
  to: address.nullable(),
  contractAddress: address.nullable(),
  cumulativeGasUsed: quantity,
  gasUsed: quantity,
  effectiveGasPrice: quantity,
  status: quantity.describe('of the transaction, and not of the operation'),
  type: quantity,
  logsBloom: hexBytes,
  logs: z.array(operationLog),
});
export type BundleReceipt = z.infer<typeof bundleReceipt>;

/** The result of `eth_getUserOperationReceipt` (ERC-7769). */
export const operationReceipt = z.object({
  userOpHash: hash,
  entryPoint: address,
  sender: address,
  nonce: quantity,
  paymaster: address.exactOptional().describe('absent without one'),
  actualGasCost: quantity,
  actualGasUsed: quantity,
  success: z.boolean().describe('of the operation itself'),
  reason: hexBytes.exactOptional().describe('what the call reverted with; only where success is false'),
  logs: z.array(operationLog).describe('of this operation'),
  receipt: bundleReceipt,
});
export type OperationReceipt = z.infer<typeof operationReceipt>;
