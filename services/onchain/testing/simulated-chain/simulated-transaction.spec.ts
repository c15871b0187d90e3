import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addressOfKey } from '../../../../shared/keys/signatures/secp256k1-keys.ts';
import { signDigest } from '../../../../shared/keys/signatures/sign-digest.ts';
import { signedTransaction, transactionDigest, transactionHash } from '../../bundler/domain/bundle-transaction.ts';
import { encodeHandleOps } from '../../operations/domain/operation-encoding.ts';
import { anAddress, anOperation, someBytes } from '../random-operation.ts';
import { readTransaction } from './simulated-transaction.ethers.ts';

const KEY = Buffer.alloc(32, 7);
const amount = fc.bigInt({ min: 0n, max: 2n ** 100n });
const aTransaction = fc
  .record({
    chainId: fc.integer({ min: 1, max: 2 ** 40 }),
    nonce: fc.nat(),
    maxPriorityFeePerGas: amount,
    maxFeePerGas: fc.oneof(amount, fc.constant(0n)),
    gasLimit: amount,
    to: anAddress,
  })
  .map((any) => ({ ...any, maxFeePerGas: any.maxFeePerGas + any.maxPriorityFeePerGas }));
const signed = (transaction: Parameters<typeof transactionDigest>[0]) =>
  signedTransaction(transaction, signDigest(KEY, transactionDigest(transaction)));

describe('a transaction that a simulated chain receives', () => {
  it('is read as it was written', () => {
    const bundle = fc.record({ operations: fc.array(anOperation, { maxLength: 5 }), beneficiary: anAddress });
    fc.assert(
      fc.property(aTransaction, bundle, (transaction, { operations, beneficiary }) => {
        const raw = signed({ ...transaction, data: encodeHandleOps(operations, beneficiary) });
        expect(readTransaction(raw)).toMatchObject({
          ...transaction,
          wei: 0n,
          hash: transactionHash(raw),
          from: addressOfKey(KEY),
          bundle: { operations, beneficiary },
        });
      }),
    );
  });

  it('may contain another call, and is no transaction if its bytes are cut or if it has another type', () => {
    fc.assert(
      fc.property(aTransaction, someBytes(300), (transaction, data) => {
        const raw = signed({ ...transaction, data: `0x00${data.slice(2)}` });
        expect(readTransaction(raw)).toMatchObject({ from: addressOfKey(KEY), bundle: undefined });
        expect(readTransaction(raw.slice(0, -2))).toBeUndefined();
        expect(readTransaction(`0x01${raw.slice(4)}`)).toBeUndefined();
      }),
    );
  });
});
