import type { StoredUserOperation } from '../../../schemas/events/user-operation.ts';

/** An operation of EntryPoint v0.7. Addresses in EIP-55 form, bytes in lower-case `0x` hex, amounts in wei and gas. */
export interface UserOperation {
  sender: string;
  /** 192 bits of key, 64 of sequence. */
  nonce: bigint;
  /** Deploys the account; `undefined` of one that is deployed. */
  factory: { address: string; data: string } | undefined;
  callData: string;
  callGasLimit: bigint;
  verificationGasLimit: bigint;
  preVerificationGas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Pays for it; `undefined` where the account does. */
  paymaster: { address: string; verificationGasLimit: bigint; postOpGasLimit: bigint; data: string } | undefined;
  signature: string;
}

/** A nonce's key, and its place among those of that key. */
export const nonceParts = (nonce: bigint): { key: bigint; sequence: bigint } => ({
  key: nonce >> 64n,
  sequence: BigInt.asUintN(64, nonce),
});
export const nonceOf = (key: bigint, sequence: bigint): bigint => (key << 64n) | sequence;

/** Returns the most that an operation can cost, in wei: what the EntryPoint asks for before it executes it. */
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
