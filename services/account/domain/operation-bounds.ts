import { digitsOf } from './abi-encoding.ts';
import { encodeHandleOps } from './operation-encoding.ts';
import { preVerificationGas } from './pre-verification-gas.ts';
import type { UserOperation } from './user-operation.ts';

/** The EntryPoint refuses more (AA94). */
const AMOUNT_MAX = 2n ** 120n - 1n;
/** Nodes take no longer transaction; some is left for what is around the call. */
const BUNDLE_BYTES_MAX = 130_000;
/** What a bundle takes beside the limits of its operation. */
const BUNDLE_GAS = 100_000n;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n);

/**
 * Returns the gas that there has to be so that the EntryPoint gives so much to the execution of an operation (else AA95):
 * `handleOps` gives 63/64 of it to `innerHandleOp`, and that 63/64 of what it was given to the account.
 */
export const gasToGive = (limits: bigint): bigint => (limits * 64n ** 2n) / 63n ** 2n;

/** Returns why no block can have an operation, or why nobody would send it; `undefined` if one can. */
export const faultOfBounds = (
  operation: UserOperation,
  head: { gasLimit: bigint; baseFeePerGas: bigint },
): string | undefined => {
  const { callGasLimit, verificationGasLimit, maxFeePerGas, maxPriorityFeePerGas, paymaster } = operation;
  const { verificationGasLimit: ofPaymaster = 0n, postOpGasLimit = 0n } = paymaster ?? {};
  const validation = [verificationGasLimit, operation.preVerificationGas, ofPaymaster];
  const execution = [callGasLimit, postOpGasLimit];
  if ([...validation, ...execution, maxFeePerGas, maxPriorityFeePerGas].some((amount) => amount > AMOUNT_MAX))
    return 'a limit or a fee has more than 120 bits';
  if (maxPriorityFeePerGas > maxFeePerGas) return 'maxPriorityFeePerGas is above maxFeePerGas';
  if (maxFeePerGas < head.baseFeePerGas)
    return `maxFeePerGas is below the base fee, which is ${String(head.baseFeePerGas)}`;
  if (sum(validation) + gasToGive(sum(execution)) + BUNDLE_GAS > head.gasLimit) return 'the gas limits fit no block';
  if (digitsOf(encodeHandleOps([operation], ZERO_ADDRESS)).length / 2 > BUNDLE_BYTES_MAX)
    return 'the operation is too long for a transaction';
  const least = preVerificationGas(operation);
  return operation.preVerificationGas < least ? `preVerificationGas is below ${String(least)}` : undefined;
};
