import { z } from 'zod';
import { quantity } from '../http/onchain/operation-receipt.ts';
import { address, addressInput, hexBytes } from '../values.ts';

/** An amount as clients write it: leading zeros and capital letters are read too. */
export const quantityInput = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/, 'is not a quantity: 0x and hex digits')
  .describe('0x and hex digits');
export const bytesInput = z
  .string()
  .regex(/^0x(?:[0-9a-fA-F]{2})*$/, 'is not bytes: 0x and pairs of hex digits')
  .toLowerCase();

const optionalQuantity = quantityInput.nullish();
const identified = {
  sender: addressInput,
  nonce: quantityInput,
  factory: addressInput.nullish(),
  factoryData: bytesInput.nullish(),
  callData: bytesInput,
  paymaster: addressInput.nullish(),
  paymasterVerificationGasLimit: optionalQuantity,
  paymasterPostOpGasLimit: optionalQuantity,
  paymasterData: bytesInput.nullish(),
  // What it authorizes would be left out, and the operation be another.
  eip7702Auth: z.null('is not supported').optional(),
};

/** An operation of EntryPoint v0.7, not packed (ERC-7769), of which limits, fees and signature may be missing. */
export const draftOperation = z.object({
  ...identified,
  callGasLimit: optionalQuantity,
  verificationGasLimit: optionalQuantity,
  preVerificationGas: optionalQuantity,
  maxFeePerGas: optionalQuantity,
  maxPriorityFeePerGas: optionalQuantity,
  signature: bytesInput.nullish(),
});
export type DraftOperation = z.output<typeof draftOperation>;

/** The same with limits and fees; its signature may be missing. */
export const pricedOperation = draftOperation.extend({
  callGasLimit: quantityInput,
  verificationGasLimit: quantityInput,
  preVerificationGas: quantityInput,
  maxFeePerGas: quantityInput,
  maxPriorityFeePerGas: quantityInput,
});

/** The same, whole. */
export const signedOperation = pricedOperation.extend({ signature: bytesInput });

/** An operation as it is answered: those members are absent that it does not have. */
export const answeredOperation = z.object({
  sender: address,
  nonce: quantity,
  factory: address.exactOptional(),
  factoryData: hexBytes.exactOptional(),
  callData: hexBytes,
  callGasLimit: quantity,
  verificationGasLimit: quantity,
  preVerificationGas: quantity,
  maxFeePerGas: quantity,
  maxPriorityFeePerGas: quantity,
  paymaster: address.exactOptional(),
  paymasterVerificationGasLimit: quantity.exactOptional(),
  paymasterPostOpGasLimit: quantity.exactOptional(),
  paymasterData: hexBytes.exactOptional(),
  signature: hexBytes,
});
export type AnsweredOperation = z.infer<typeof answeredOperation>;

const word = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'is not a word: 0x and 64 hex digits')
  .describe('32 bytes');
const slots = z.record(word, word);

/** What `eth_call` takes as state override set, by address. */
export const stateOverride = z.record(
  addressInput,
  z
    .strictObject({
      balance: quantityInput.exactOptional(),
      nonce: z
        .string()
        .regex(/^0x[0-9a-fA-F]{1,16}$/, 'is not a nonce: 0x and at most 16 hex digits')
        .exactOptional(),
      code: bytesInput.exactOptional(),
      state: slots.exactOptional(),
      stateDiff: slots.exactOptional(),
    })
    .refine(({ state, stateDiff }) => state === undefined || stateDiff === undefined, 'has both state and stateDiff'),
);
export type StateOverride = z.output<typeof stateOverride>;
