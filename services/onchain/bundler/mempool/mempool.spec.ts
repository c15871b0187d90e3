import { describe, expect, it } from '@jest/globals';
import { eventExamples } from '../../../schemas/examples/event-examples.ts';
import { TRANSACTION_DATA_BYTES_MAX } from '../domain/fork-rules.ts';
import { encodeHandleOps } from '../domain/operation-encoding.ts';
import { transactionFold, type Transaction } from '../domain/transaction.ts';
import { nonceOf } from '../domain/user-operation.ts';
import { OperationPool } from './operation-pool.ts';

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
  if (!transaction) throw new Error('what was submitted is a transaction');
  return transaction;
};

const poolOf = (transactions: readonly Transaction[]): OperationPool => {
  const pool = new OperationPool();
  for (const transaction of transactions) pool.put(transaction.submission.transactionId, transaction);
  return pool;
};

const nextOf = (pool: OperationPool): string[] =>
  pool.next({ nowMs: 0, baseFee: 0n, max: 50, takesForeign: true }).map(({ id }) => id);

describe('operations of one account', () => {
  it('come after the one that deploys it, and after those with an earlier nonce of their key', () => {
    const later = submitted('later', nonceOf(0n, 1n));
    const other = submitted('other', nonceOf(1n, 0n));
    const deploying = submitted('deploying', nonceOf(0n, 0n), { deploys: true });
    expect(nextOf(poolOf([deploying, other, later]))).toEqual(['deploying', 'other', 'later']);
    expect(nextOf(poolOf([other, deploying, later]))).toEqual(['deploying', 'later']);
    expect(nextOf(poolOf([later, other]))).toEqual(['later', 'other']);
  });

  it('do not wait for one that deploys it, but comes after one of them itself', () => {
    // After a reorganisation: the account has no code, and what was signed anew to deploy it is not the first of its key.
    const first = submitted('first', nonceOf(0n, 1n));
    const before = submitted('before', nonceOf(0n, 2n));
    const anew = submitted('anew', nonceOf(0n, 2n), { deploys: true, replaces: 'before' });
    const other = submitted('other', nonceOf(1n, 0n));
    expect(nextOf(poolOf([first, before, other, anew]))).toEqual(['first', 'other', 'anew']);
  });
});

describe('long operations', () => {
  it('are as many in a bundle as its transaction may have bytes, and shorter ones fill it up', () => {
    const long = (at: number) =>
      submitted(`long ${String(at)}`, nonceOf(BigInt(at), 0n), { callData: `0x${'11'.repeat(32_768)}` });
    const short = submitted('short', nonceOf(9n, 0n));
    const pool = poolOf([long(1), long(2), long(3), long(4), short]);
    const ready = pool.next({ nowMs: 0, baseFee: 0n, max: 50, takesForeign: true });
    expect(ready.map(({ id }) => id)).toEqual(['long 1', 'long 2', 'long 3', 'short']);
    const data = encodeHandleOps(
      ready.map(({ operation }) => operation),
      FACTORY,
    );
    expect(data.length / 2).toBeLessThan(TRANSACTION_DATA_BYTES_MAX);
  });

  it('are alone in a bundle where they are longer than any transaction', () => {
    const tooLong = submitted('too long', 0n, { callData: `0x${'11'.repeat(TRANSACTION_DATA_BYTES_MAX)}` });
    expect(nextOf(poolOf([tooLong, submitted('short', nonceOf(1n, 0n))]))).toEqual(['too long']);
  });
});
