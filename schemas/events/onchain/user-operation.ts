import { z } from 'zod';
import { address, hexBytes, uint } from '../../values.ts';

/**
 * An operation of EntryPoint v0.7, not packed (ERC-7769), as it is stored: amounts are decimal strings. The members of factory
 * and paymaster are `null` without one.
 */
export const userOperation = z.object({
  sender: address,
  nonce: uint,
  factory: address.nullable(),
  factoryData: hexBytes.nullable(),
  callData: hexBytes,
  callGasLimit: uint,
  verificationGasLimit: uint,
  preVerificationGas: uint,
  maxFeePerGas: uint,
  maxPriorityFeePerGas: uint,
  paymaster: address.nullable(),
  paymasterVerificationGasLimit: uint.nullable(),
  paymasterPostOpGasLimit: uint.nullable(),
  paymasterData: hexBytes.nullable(),
  signature: hexBytes,
});
export type StoredUserOperation = z.infer<typeof userOperation>;
