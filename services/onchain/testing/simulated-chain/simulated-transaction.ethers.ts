import { isError, Transaction } from 'ethers';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import { transactionHash, type BundleTransaction } from '../../bundler/domain/bundle-transaction.ts';
import { readHandleOps } from './read-handle-ops.ts';
import { recoverAddress } from './recover-address.ethers.ts';

/** A decoded transaction: legacy, whose fees both are its gas price, or of EIP-1559. */
export interface SimulatedTransaction extends Omit<BundleTransaction, 'isLegacy'> {
  hash: string;
  /** EIP-55. */
  to: string;
  wei: bigint;
  /** EIP-55. */
  from: string;
  /** Gas charged before execution. */
  intrinsicGas: bigint;
  /** `undefined` if the data is not a call of `handleOps`. */
  bundle: { operations: UserOperation[]; beneficiary: string } | undefined;
}

/** How ethers refuses bytes that are not a transaction. */
const REFUSALS = ['BAD_DATA', 'BUFFER_OVERRUN', 'INVALID_ARGUMENT', 'UNSUPPORTED_OPERATION'] as const;
const INTRINSIC_GAS = 21_000;
const GAS_PER_ZERO = 4;
const GAS_PER_BYTE = 16;

/** Returns `undefined` if the bytes are not a transaction that calls an address, or its signature or its fees are invalid. */
export const readTransaction = (raw: string): SimulatedTransaction | undefined => {
  const read = parsed(raw);
  if (!read?.signature || read.to === null) return undefined;
  const from = recoverAddress(Buffer.from(read.unsignedHash.slice(2), 'hex'), read.signature.serialized);
  if (from === undefined) return undefined;
  const data = Buffer.from(read.data.slice(2), 'hex');
  const gasPrice = read.gasPrice ?? 0n;
  return {
    hash: transactionHash(raw),
    chainId: Number(read.chainId),
    nonce: read.nonce,
    maxPriorityFeePerGas: read.maxPriorityFeePerGas ?? gasPrice,
    maxFeePerGas: read.maxFeePerGas ?? gasPrice,
    gasLimit: read.gasLimit,
    to: read.to,
    wei: read.value,
    from,
    data: read.data,
    intrinsicGas: intrinsicGasOf(data),
    bundle: readHandleOps(data),
  };
};

const parsed = (raw: string): Transaction | undefined => {
  try {
    const read = Transaction.from(raw);
    // A tip above the fee is refused only when the transaction is written.
    return read.serialized === raw ? read : undefined;
  } catch (error) {
    if (REFUSALS.some((code) => isError(error, code))) return undefined;
    throw error;
  }
};

const intrinsicGasOf = (data: Buffer): bigint => {
  let gas = INTRINSIC_GAS;
  for (const byte of data) gas += byte === 0 ? GAS_PER_ZERO : GAS_PER_BYTE;
  return BigInt(gas);
};
