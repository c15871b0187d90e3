import { addressWord, arrayTail, bytesTail, digitsOf, tuple, word } from './abi-encoding.ts';
import type { UserOperation } from './user-operation.ts';

/** `handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)` */
const HANDLE_OPS = '0x765e827f';
/** `simulateHandleOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),address,bytes)` */
const SIMULATE_HANDLE_OP = '0x97b2dcb9';
const HALF_DIGITS = 32;
const WORD_BYTES = 32;

const half = (value: bigint): string => value.toString(16).padStart(HALF_DIGITS, '0');

/** Returns the address and data of the factory; `0x` if there is none. */
export const initCode = ({ factory }: Pick<UserOperation, 'factory'>): string =>
  factory ? `0x${digitsOf(factory.address)}${digitsOf(factory.data)}` : '0x';

/** Returns the address, limits and data of the paymaster; `0x` if there is none. */
export const paymasterAndData = ({ paymaster }: Pick<UserOperation, 'paymaster'>): string =>
  paymaster ? `0x${digitsOf(paymaster.address)}${paymasterLimits(paymaster)}${digitsOf(paymaster.data)}` : '0x';

type Paymaster = NonNullable<UserOperation['paymaster']>;

/** Both gas limits of the paymaster in one word. */
export const paymasterLimits = (paymaster: Omit<Paymaster, 'address' | 'data'>): string =>
  half(paymaster.verificationGasLimit) + half(paymaster.postOpGasLimit);

export const accountGasLimits = (operation: Pick<UserOperation, 'verificationGasLimit' | 'callGasLimit'>): string =>
  half(operation.verificationGasLimit) + half(operation.callGasLimit);

export const gasFees = (operation: Pick<UserOperation, 'maxPriorityFeePerGas' | 'maxFeePerGas'>): string =>
  half(operation.maxPriorityFeePerGas) + half(operation.maxFeePerGas);

/** Returns the ABI encoding of EntryPoint v0.7's PackedUserOperation, as hex digits. */
export const packedOperation = (operation: UserOperation): string =>
  tuple(
    addressWord(operation.sender),
    word(operation.nonce),
    { tail: bytesTail(digitsOf(initCode(operation))) },
    { tail: bytesTail(digitsOf(operation.callData)) },
    accountGasLimits(operation),
    word(operation.preVerificationGas),
    gasFees(operation),
    { tail: bytesTail(digitsOf(paymasterAndData(operation))) },
    { tail: bytesTail(digitsOf(operation.signature)) },
  );

/** Returns how many bytes an operation takes in the data of a bundle, including its offset. */
export const bytesInBundle = (operation: UserOperation): number => WORD_BYTES + packedOperation(operation).length / 2;

/** Returns the call data of the EntryPoint that executes these operations and pays their fees to `beneficiary`. */
export const encodeHandleOps = (operations: readonly UserOperation[], beneficiary: string): string =>
  HANDLE_OPS + tuple({ tail: arrayTail(operations.map(packedOperation)) }, addressWord(beneficiary));

/** Returns the call data of EntryPointSimulations that executes an operation, then calls `target` with `targetData`. */
export const encodeSimulateHandleOp = (operation: UserOperation, target: string, targetData: string): string =>
  SIMULATE_HANDLE_OP +
  tuple({ tail: packedOperation(operation) }, addressWord(target), { tail: bytesTail(digitsOf(targetData)) });
