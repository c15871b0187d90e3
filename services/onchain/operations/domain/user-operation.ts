import type { StoredUserOperation } from '../../../../schemas/events/onchain/user-operation.ts';
import type { AnsweredOperation } from '../../../../schemas/rpc/rpc-operation.ts';

/** An operation of EntryPoint v0.7. Addresses in EIP-55 form, bytes in lower-case `0x` hex, amounts in wei and gas. */
export interface UserOperation {
  sender: string;
  /** 192 bits of key, 64 of sequence. */
  nonce: bigint;
  /** Deploys the account; `undefined` if the account is deployed. */
  factory: { address: string; data: string } | undefined;
  callData: string;
  callGasLimit: bigint;
  verificationGasLimit: bigint;
  preVerificationGas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Pays for the operation; `undefined` if the account pays. */
  paymaster: { address: string; verificationGasLimit: bigint; postOpGasLimit: bigint; data: string } | undefined;
  signature: string;
}

/** The key of a nonce, and its sequence within that key. */
export const nonceParts = (nonce: bigint): { key: bigint; sequence: bigint } => ({
  key: nonce >> 64n,
  sequence: BigInt.asUintN(64, nonce),
});
export const nonceOf = (key: bigint, sequence: bigint): bigint => (key << 64n) | sequence;

/** Returns the most that an operation can cost, in wei: the prefund that the EntryPoint takes before the execution. */
export const maxCostOf = (operation: Omit<UserOperation, 'signature'>): bigint => {
  const { callGasLimit, verificationGasLimit, preVerificationGas, paymaster, maxFeePerGas } = operation;
  const ofPaymaster = paymaster ? paymaster.verificationGasLimit + paymaster.postOpGasLimit : 0n;
  return (callGasLimit + verificationGasLimit + preVerificationGas + ofPaymaster) * maxFeePerGas;
};

export const storedOperation = (operation: UserOperation): StoredUserOperation => {
  const { factory, paymaster } = operation;
  return {
    sender: operation.sender,
    nonce: String(operation.nonce),
    factory: factory?.address ?? null,
    factoryData: factory?.data ?? null,
    callData: operation.callData,
    callGasLimit: String(operation.callGasLimit),
    verificationGasLimit: String(operation.verificationGasLimit),
    preVerificationGas: String(operation.preVerificationGas),
    maxFeePerGas: String(operation.maxFeePerGas),
    maxPriorityFeePerGas: String(operation.maxPriorityFeePerGas),
    paymaster: paymaster?.address ?? null,
    paymasterVerificationGasLimit: paymaster ? String(paymaster.verificationGasLimit) : null,
    paymasterPostOpGasLimit: paymaster ? String(paymaster.postOpGasLimit) : null,
    paymasterData: paymaster?.data ?? null,
    signature: operation.signature,
  };
};

export const openOperation = (stored: StoredUserOperation): UserOperation => ({
  sender: stored.sender,
  nonce: BigInt(stored.nonce),
  factory: stored.factory === null ? undefined : { address: stored.factory, data: stored.factoryData ?? '0x' },
  callData: stored.callData,
  callGasLimit: BigInt(stored.callGasLimit),
  verificationGasLimit: BigInt(stored.verificationGasLimit),
  preVerificationGas: BigInt(stored.preVerificationGas),
  maxFeePerGas: BigInt(stored.maxFeePerGas),
  maxPriorityFeePerGas: BigInt(stored.maxPriorityFeePerGas),
  paymaster:
    stored.paymaster === null
      ? undefined
      : {
          address: stored.paymaster,
          verificationGasLimit: BigInt(stored.paymasterVerificationGasLimit ?? 0),
          postOpGasLimit: BigInt(stored.paymasterPostOpGasLimit ?? 0),
          data: stored.paymasterData ?? '0x',
        },
  signature: stored.signature,
});

export const quantityOf = (value: bigint | number): string => `0x${value.toString(16)}`;

/** Returns the form of ERC-7769: quantities in hex, absent members left out. */
export const answeredOperationOf = (operation: UserOperation): AnsweredOperation => {
  const { factory, paymaster } = operation;
  return {
    sender: operation.sender,
    nonce: quantityOf(operation.nonce),
    ...(factory && { factory: factory.address, factoryData: factory.data }),
    callData: operation.callData,
    callGasLimit: quantityOf(operation.callGasLimit),
    verificationGasLimit: quantityOf(operation.verificationGasLimit),
    preVerificationGas: quantityOf(operation.preVerificationGas),
    maxFeePerGas: quantityOf(operation.maxFeePerGas),
    maxPriorityFeePerGas: quantityOf(operation.maxPriorityFeePerGas),
    ...(paymaster && {
      paymaster: paymaster.address,
      paymasterVerificationGasLimit: quantityOf(paymaster.verificationGasLimit),
      paymasterPostOpGasLimit: quantityOf(paymaster.postOpGasLimit),
      paymasterData: paymaster.data,
    }),
    signature: operation.signature,
  };
};
