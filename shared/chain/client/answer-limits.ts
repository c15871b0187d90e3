import { isParsable } from '../primitives/json-shape.ts';
import type { BlockRange } from './suggested-range.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** The most bytes of the answer to a call. A header has 64 KiB at 900 transactions, logs have 32 MiB at some 50,000. */
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
  // All logs of a block may be those of one transaction.
  eth_getTransactionReceipt: 32 * MIB,
  eth_maxPriorityFeePerGas: 64 * KIB,
  eth_sendRawTransaction: 64 * KIB,
};
/** Logs with a header. More would block the event loop for too long, whatever it is. */
const REQUEST_BYTES_MAX = 34 * MIB;
/** Bytes alone do not bound memory: two of them may become an object. 34 MiB of logs have 1,300,000 values. */
const VALUES_MAX = 2_000_000;

export interface RpcCall {
  method: keyof typeof CALL_BYTES_MAX;
  params: readonly unknown[];
  /** The blocks whose logs it asks for. */
  blocks?: BlockRange;
}

/** How many bytes the answer to a request may have; `isCut` if that is less than its calls may have one by one. */
export const limitAnswer = (calls: readonly RpcCall[]): { bytesMax: number; isCut: boolean } => {
  const bytes = calls.reduce((sum, { method }) => sum + CALL_BYTES_MAX[method], 0);
  return { bytesMax: Math.min(bytes, REQUEST_BYTES_MAX), isCut: bytes > REQUEST_BYTES_MAX };
};

/** Returns `undefined` for what is not JSON, and for what would take too much memory as values. */
export const parseAnswer = (bytes: Buffer): unknown => {
  if (!isParsable(bytes, VALUES_MAX)) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
};
