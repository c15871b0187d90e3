import type { BundleReceipt, OperationLog, OperationReceipt } from '../../../schemas/http/operation-receipt.ts';
import { BEFORE_EXECUTION, USER_OPERATION_EVENT } from './entry-point-events.ts';

/** An operation that a block has, as it was read from the chain before. */
export interface IncludedOperation {
  userOpHash: string;
  entryPoint: string;
  sender: string;
  /** Decimal, as the amounts below. */
  nonce: string;
  paymaster: string | null;
  actualGasCostWei: string;
  actualGasUsed: string;
  success: boolean;
  /** What the call reverted with; `null` if it did not, or with nothing. */
  revertReason: string | null;
  blockHash: string;
  /** Of its UserOperationEvent. */
  logIndex: number;
}

/**
 * Returns the receipt of an operation (ERC-7769) from that of the transaction that has it.
 * @returns `undefined` where the transaction has it no more, or in another block
 */
export const operationReceiptOf = (
  operation: IncludedOperation,
  receipt: BundleReceipt,
): OperationReceipt | undefined => {
  const { userOpHash, entryPoint, sender, paymaster, success, revertReason } = operation;
  if (receipt.blockHash !== operation.blockHash) return undefined;
  const at = receipt.logs.findIndex(({ logIndex }) => Number(logIndex) === operation.logIndex);
  const end = receipt.logs[at];
  const [event, hash] = end?.topics ?? [];
  if (end?.address !== entryPoint || event !== USER_OPERATION_EVENT || hash !== userOpHash) return undefined;
  const endsOther = ({ address, topics: [topic] }: OperationLog): boolean =>
    address === entryPoint && (topic === USER_OPERATION_EVENT || topic === BEFORE_EXECUTION);
  const before = receipt.logs.slice(0, at);
  return {
    ...{ userOpHash, entryPoint, sender },
    nonce: quantityOf(operation.nonce),
    ...(paymaster !== null && { paymaster }),
    actualGasCost: quantityOf(operation.actualGasCostWei),
    actualGasUsed: quantityOf(operation.actualGasUsed),
    success,
    ...(!success && { reason: revertReason ?? '0x' }),
    logs: before.slice(before.findLastIndex(endsOther) + 1),
    receipt,
  };
};

const quantityOf = (decimal: string): string => `0x${BigInt(decimal).toString(16)}`;
