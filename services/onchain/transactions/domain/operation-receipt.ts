import type {
  BundleReceipt,
  OperationLog,
  OperationReceipt,
} from '../../../../schemas/http/onchain/operation-receipt.ts';
import { quantityOf } from '../../operations/domain/user-operation.ts';
import { BEFORE_EXECUTION, USER_OPERATION_EVENT } from '../../chain/domain/entry-point-events.ts';

/** An included operation, as it was read from the chain. */
export interface IncludedOperation {
  userOpHash: string;
  entryPoint: string;
  sender: string;
  /** Decimal, like the amounts below. */
  nonce: string;
  paymaster: string | null;
  actualGasCostWei: string;
  actualGasUsed: string;
  success: boolean;
  /** The revert data of the call; `null` if it did not revert, or reverted without data. */
  revertReason: string | null;
  blockHash: string;
  /** The index of its UserOperationEvent. */
  logIndex: number;
}

/**
 * Returns the receipt of an operation (ERC-7769) from the receipt of its bundle's transaction.
 * @returns `undefined` if that transaction does not contain the operation any more, or is in another block
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
    nonce: quantityOf(BigInt(operation.nonce)),
    ...(paymaster !== null && { paymaster }),
    actualGasCost: quantityOf(BigInt(operation.actualGasCostWei)),
    actualGasUsed: quantityOf(BigInt(operation.actualGasUsed)),
    success,
    ...(!success && { reason: revertReason ?? '0x' }),
    logs: before.slice(before.findLastIndex(endsOther) + 1),
    receipt,
  };
};
