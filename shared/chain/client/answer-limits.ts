import { isParsable } from '../../primitives/text/json-shape.ts';
import type { BlockRange } from './refusals/suggested-range.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** Maximum bytes of the answer to a call. A header has 64 KiB at 900 transactions, logs have 32 MiB at some 50,000. */
const CALL_BYTES_MAX = {
  eth_call: 64 * KIB,
  eth_chainId: 64 * KIB,
  eth_estimateGas: 64 * KIB,
  eth_feeHistory: 64 * KIB,
  eth_getBlockByHash: 2 * MIB,
  eth_getBlockByNumber: 2 * MIB,
  eth_getBlockReceipts: 32 * MIB,
  eth_getBalance: 64 * KIB,
  eth_getCode: 256 * KIB,
  eth_getLogs: 32 * MIB,
  eth_getStorageAt: 64 * KIB,
  eth_getTransactionCount: 64 * KIB,
  // All logs of a block may belong to one transaction.
  eth_getTransactionReceipt: 32 * MIB,
  eth_maxPriorityFeePerGas: 64 * KIB,
  eth_sendRawTransaction: 64 * KIB,
};
/** Maximum bytes of a whole answer: logs with a header. Parsing more would block the event loop for too long. */
const REQUEST_BYTES_MAX = 34 * MIB;
/**
 * Maximum JSON values of an answer. A limit of bytes does not bound memory, because two bytes can become an object. 34
 * MiB of logs have 1,300,000 values.
 */
const VALUES_MAX = 2_000_000;

export interface RpcCall {
  method: keyof typeof CALL_BYTES_MAX;
  params: readonly unknown[];
  /** For a call that reads logs: the blocks. */
  blocks?: BlockRange;
}

/** Returns the maximum bytes of the answer to a request. `isCut` if that is less than the sum of its calls' limits. */
export const limitAnswer = (calls: readonly RpcCall[]): { bytesMax: number; isCut: boolean } => {
  const bytes = calls.reduce((sum, { method }) => sum + CALL_BYTES_MAX[method], 0);
  return { bytesMax: Math.min(bytes, REQUEST_BYTES_MAX), isCut: bytes > REQUEST_BYTES_MAX };
};

/** Returns `undefined` for bytes that are not JSON, or would take too much memory once parsed. */
export const parseAnswer = (bytes: Buffer): unknown => {
  if (!isParsable(bytes, VALUES_MAX)) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
};
