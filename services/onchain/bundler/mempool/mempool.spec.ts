import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { TRANSACTION_DATA_BYTES_MAX } from '../../operations/domain/fork-rules.ts';
import { encodeHandleOps } from '../../operations/domain/operation-encoding.ts';
import { transactionFold, type Transaction } from '../../transactions/domain/transaction.ts';
import { nonceOf } from '../../operations/domain/user-operation.ts';
import { Mempool } from './mempool.ts';

const { TxSubmitted: example } = eventExamples;
const FACTORY = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';

const submitted = (
  id: string,
  nonce: bigint,
  {
    deploys = false,
    replaces = null,
    callData = example.operation.callData,
  }: { deploys?: boolean; replaces?: string | null; callData?: string } = {},
): Transaction => {
  const factory = deploys ? { factory: FACTORY, factoryData: '0x' } : { factory: null, factoryData: null };
  const operation = { ...example.operation, nonce: String(nonce), callData, ...factory };
  const data = { ...example, transactionId: id, userOpHash: id, nonce: String(nonce), operation, replaces };
  const transaction = transactionFold.evolve(undefined, { type: 'TxSubmitted', data }, 0);
  if (!transaction) throw new Error('TxSubmitted must make a transaction');
  return transaction;
};

const poolOf = (transactions: readonly Transaction[]): Mempool => {
  const mempool = new Mempool();
  for (const transaction of transactions) mempool.put(transaction.submission.transactionId, transaction);
  return mempool;
};

const nextOf = (mempool: Mempool): string[] =>
  mempool.next({ nowMs: 0, baseFee: 0n, max: 50, takesForeign: true }).map(({ id }) => id);

describe('operations of one account', () => {
  it('come after the operation that deploys the account, and after earlier nonces of their key', () => {
    const later = submitted('later', nonceOf(0n, 1n));
    const other = submitted('other', nonceOf(1n, 0n));
    const deploying = submitted('deploying', nonceOf(0n, 0n), { deploys: true });
    expect(nextOf(poolOf([deploying, other, later]))).toEqual(['deploying', 'other', 'later']);
    expect(nextOf(poolOf([other, deploying, later]))).toEqual(['deploying', 'later']);
    expect(nextOf(poolOf([later, other]))).toEqual(['later', 'other']);
  });

  it('do not wait for a deploying operation that needs one of them', () => {
    // After a reorganisation, the account has no code, and the replacement that deploys it is not the first of its key.
    const first = submitted('first', nonceOf(0n, 1n));
    const before = submitted('before', nonceOf(0n, 2n));
    const anew = submitted('anew', nonceOf(0n, 2n), { deploys: true, replaces: 'before' });
    const other = submitted('other', nonceOf(1n, 0n));
    expect(nextOf(poolOf([first, before, other, anew]))).toEqual(['first', 'other', 'anew']);
  });
});

describe('long operations', () => {
  it('fill a bundle up to the most bytes of a transaction, and shorter operations fill the rest', () => {
    const long = (at: number) =>
      submitted(`long ${String(at)}`, nonceOf(BigInt(at), 0n), { callData: `0x${'11'.repeat(32_768)}` });
    const short = submitted('short', nonceOf(9n, 0n));
    const mempool = poolOf([long(1), long(2), long(3), long(4), short]);
    const ready = mempool.next({ nowMs: 0, baseFee: 0n, max: 50, takesForeign: true });
    expect(ready.map(({ id }) => id)).toEqual(['long 1', 'long 2', 'long 3', 'short']);
    const data = encodeHandleOps(
      ready.map(({ operation }) => operation),
      FACTORY,
    );
    expect(data.length / 2).toBeLessThan(TRANSACTION_DATA_BYTES_MAX);
  });

  it('get a bundle of their own if they are longer than any transaction', () => {
    const tooLong = submitted('too long', 0n, { callData: `0x${'11'.repeat(TRANSACTION_DATA_BYTES_MAX)}` });
    expect(nextOf(poolOf([tooLong, submitted('short', nonceOf(1n, 0n))]))).toEqual(['too long']);
  });
});
