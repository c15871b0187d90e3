import { digitsOf } from './abi-encoding.ts';
import { dataGas, type ForkRules } from './fork-rules.ts';
import { encodeHandleOps, packedOperation } from './operation-encoding.ts';
import type { UserOperation } from './user-operation.ts';

/** The EntryPoint's reentrancy guard, its events and its work for the operation: 18,800, with a paymaster 19,200. */
const ENTRY_POINT_GAS = 19_400;
/** For each word of `callData`, which is copied twice: 9.1 measured. */
const WORD_GAS = 10;
/** An account whose `callData` begins with this selector is given the whole operation: `executeUserOp`. */
const EXECUTE_USER_OP = '0x8dd7712f';
/** The operation is then copied as a whole: 1,700 measured, and 78 for each word. */
const WHOLE_GAS = 2_000;
const WHOLE_WORD_GAS = 80;
/** Memory costs, besides 3 gas for each word, the square of the words through this (Yellow Paper, appendix H). */
const MEMORY_DIVISOR = 512;

const WORD_DIGITS = 64;
const FULL_ADDRESS = `0x${'ff'.repeat(20)}`;
/** As many bytes as any block's gas, and any gas price, has; none of them is zero. */
const FULL_GAS = 0xffffffffn;
const FULL_PRICE = 0xffffffffffffffffn;

/**
 * Returns the gas that a bundle of this operation alone uses beyond the gas that EntryPoint v0.7 counts, so that the
 * bundler's costs are paid back. It depends on the length of the signature, but not on gas limits, fees and the signature's
 * value. On a chain with a floor for data, a bundle costs at least the floor: the gas that the EntryPoint counts is not
 * subtracted, because an account may use less than in a simulation.
 */
export const preVerificationGas = (operation: UserOperation, rules: ForkRules): bigint => {
  const filled = withoutZeroBytes(operation);
  const { intrinsic, floor } = dataGas(fullBundleOf(operation), rules);
  const executed = intrinsic + BigInt(Math.ceil(ENTRY_POINT_GAS + copyGas(filled)));
  return executed > floor ? executed : floor;
};

/** Returns the data of a bundle of this operation alone, none of whose numbers and signatures has zero bytes. */
export const fullBundleOf = (operation: UserOperation): string =>
  encodeHandleOps([withoutZeroBytes(operation)], FULL_ADDRESS);

const withoutZeroBytes = (operation: UserOperation): UserOperation => ({
  ...operation,
  callGasLimit: FULL_GAS,
  verificationGasLimit: FULL_GAS,
  preVerificationGas: FULL_GAS,
  maxFeePerGas: FULL_PRICE,
  maxPriorityFeePerGas: FULL_PRICE,
  paymaster: operation.paymaster && {
    ...operation.paymaster,
    verificationGasLimit: FULL_GAS,
    postOpGasLimit: FULL_GAS,
  },
  signature: `0x${'ff'.repeat(digitsOf(operation.signature).length / 2)}`,
});

/** The gas for the data that the EntryPoint copies before it begins to count. */
const copyGas = (operation: UserOperation): number => {
  if (!operation.callData.startsWith(EXECUTE_USER_OP)) {
    const words = digitsOf(operation.callData).length / WORD_DIGITS;
    return words * WORD_GAS + words ** 2 / MEMORY_DIVISOR;
  }
  const words = packedOperation(operation).length / WORD_DIGITS;
  return WHOLE_GAS + words * WHOLE_WORD_GAS + (2 * words) ** 2 / MEMORY_DIVISOR;
};
