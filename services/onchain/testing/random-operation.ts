import fc from 'fast-check';
import { checksumAddress } from '../../../shared/chain/identifiers/address.ts';
import type { UserOperation } from '../operations/domain/user-operation.ts';

export const anAddress = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => checksumAddress(Buffer.from(bytes).toString('hex')));
export const someBytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
const upTo = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n });

export const aCall = fc.record({ to: anAddress, value: upTo(256), data: someBytes(100) });

export const aPaymaster = fc.record({
  address: anAddress,
  verificationGasLimit: upTo(128),
  postOpGasLimit: upTo(128),
  data: someBytes(200),
});

/** Any operation that can be encoded, whether it makes sense or not. */
export const anOperation: fc.Arbitrary<UserOperation> = fc.record({
  sender: anAddress,
  nonce: upTo(256),
  factory: fc.option(fc.record({ address: anAddress, data: someBytes(100) }), { nil: undefined }),
  callData: someBytes(300),
  callGasLimit: upTo(128),
  verificationGasLimit: upTo(128),
  preVerificationGas: upTo(256),
  maxFeePerGas: upTo(128),
  maxPriorityFeePerGas: upTo(128),
  paymaster: fc.option(aPaymaster, { nil: undefined }),
  signature: someBytes(100),
});
