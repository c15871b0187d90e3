import { Signature, Transaction } from 'ethers';
import fc from 'fast-check';
import { expect, it } from '@jest/globals';
import { anAddress, someBytes } from '../../testing/random-operation.ts';
import { signedTransaction, transactionDigest, transactionHash } from './bundle-transaction.ts';

const amount = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n });
const aNumber = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
const aTransaction = fc
  .record({
    chainId: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
    nonce: aNumber,
    maxFeePerGas: amount(128),
    isLegacy: fc.boolean(),
    gasLimit: amount(64),
    to: anAddress,
    data: fc.oneof(
      someBytes(2),
      fc.constantFrom(53, 54, 55, 56, 57, 255, 256, 70_000).map((size) => `0x${'a1'.repeat(size)}`),
      someBytes(600),
    ),
  })
  .map((any) => ({ ...any, maxPriorityFeePerGas: any.isLegacy ? any.maxFeePerGas : any.maxFeePerGas / 3n }));
/** Scalars, some with leading zeros, which the encoding leaves out. */
const aScalar = fc
  .tuple(fc.nat({ max: 31 }), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(([zeros, bytes]) => Buffer.from(bytes).fill(0, 0, zeros).fill(1, 31));
const lowered = (scalar: Buffer) => Buffer.from(scalar).fill(0x7f & scalar.readUInt8(), 0, 1);

it('a transaction is encoded as ethers encodes it, unsigned and signed', () => {
  fc.assert(
    fc.property(aTransaction, aScalar, aScalar, fc.constantFrom(27, 28), (transaction, r, high, v) => {
      const s = lowered(high);
      const { maxFeePerGas, maxPriorityFeePerGas, isLegacy, ...common } = transaction;
      const expected = Transaction.from(
        isLegacy
          ? { ...common, type: 0, gasPrice: maxFeePerGas }
          : { ...common, type: 2, maxFeePerGas, maxPriorityFeePerGas, accessList: [] },
      );
      expect(`0x${transactionDigest(transaction).toString('hex')}`).toBe(expected.unsignedHash);
      const signature = Buffer.concat([r, s, Buffer.of(v)]);
      const raw = signedTransaction(transaction, signature);
      expected.signature = Signature.from(`0x${signature.toString('hex')}`);
      expect(raw).toBe(expected.serialized);
      expect(transactionHash(raw)).toBe(expected.hash);
    }),
    { numRuns: 300 },
  );
});
