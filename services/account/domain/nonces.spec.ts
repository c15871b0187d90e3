import { describe, expect, it } from '@jest/globals';
import type { NonceEvent } from '../../../schemas/events/nonce-events.ts';
import { given } from '../../../shared/testing/given.ts';
import {
  assignNonce,
  holderOf,
  newestTransactions,
  nonceOfTransaction,
  noncesFold,
  releaseNonce,
  takeNonce,
} from './nonces.ts';
import { nonceOf } from './user-operation.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const account = { chainId: 2484, sender: '0x1234567890AbcdEF1234567890aBcdef12345678' };
const KEY_1 = nonceOf(1n, 0n);
const none = new Set<string>();

const assigned = (transactionId: string, nonce: bigint, deploys = false): NonceEvent => ({
  type: 'NonceAssigned',
  data: { ...account, nonce: String(nonce), transactionId, deploys },
});
const released = (transactionId: string, nonce: bigint): NonceEvent => ({
  type: 'NonceReleased',
  data: { ...account, nonce: String(nonce), transactionId },
});
const after = (...events: NonceEvent[]) =>
  given(
    noncesFold,
    events.map((event) => [event, NOON]),
  );
const assign =
  (transactionId: string, options: Partial<Parameters<typeof assignNonce>[2]> = {}) =>
  (nonces: Parameters<typeof assignNonce>[0]) =>
    assignNonce(nonces, transactionId, { ...account, usedUp: none, dropped: none, isDeployed: true, ...options });

describe('the nonces of an account', () => {
  it('are of different keys while the transactions before are not included', () => {
    after()
      .when(assign('a'))
      .then([assigned('a', 0n)]);
    after(assigned('a', 0n))
      .when(assign('b'))
      .then([assigned('b', KEY_1)]);
  });

  it('go on with a key whose last nonce a block has used', () => {
    after(assigned('a', 0n), assigned('b', KEY_1))
      .when(assign('c', { usedUp: new Set(['b']) }))
      .then([assigned('c', KEY_1 + 1n)]);
  });

  it('of a transaction that can never be included are used by the next', () => {
    after(assigned('a', 7n))
      .when(assign('b', { dropped: new Set(['a']) }))
      .then([assigned('b', 7n)]);
  });

  it('are assigned once: the same transaction has the same', () => {
    after(assigned('a', 0n)).when(assign('a')).then([]);
    const { state } = after(assigned('a', 0n), assigned('b', KEY_1));
    expect(nonceOfTransaction(state, 'b')).toBe(KEY_1);
    expect(nonceOfTransaction(state, 'c')).toBeUndefined();
    expect(newestTransactions(state)).toEqual(['a', 'b']);
  });

  it('of a transaction that was never signed are free again', () => {
    after(assigned('a', 0n))
      .when((state) => releaseNonce(state, 'a', account))
      .then([released('a', 0n)]);
    after(assigned('a', 0n), released('a', 0n))
      .when(assign('b'))
      .then([assigned('b', 0n)]);
    after(assigned('a', 0n), assigned('b', 1n), released('b', 1n))
      .when(assign('c'))
      .then([assigned('c', 1n)]);
    after(assigned('a', 0n))
      .when((state) => releaseNonce(state, 'b', account))
      .then([]);
    expect(after(assigned('a', 0n), assigned('b', 1n), released('a', 0n)).state).toEqual(
      after(assigned('a', 0n), assigned('b', 1n)).state,
    );
  });

  it('go to the transaction that replaces another', () => {
    const terms = { ...account, nonce: 0n, deploys: false };
    const { state } = after(assigned('a', 0n), assigned('b', 0n));
    expect(holderOf(state, 0n)).toBe('b');
    expect(holderOf(state, 1n)).toBeUndefined();
    after(assigned('a', 0n))
      .when((nonces) => takeNonce(nonces, 'b', terms))
      .then([assigned('b', 0n)]);
    after(assigned('a', 0n), assigned('b', 0n))
      .when((nonces) => takeNonce(nonces, 'b', terms))
      .then([]);
  });

  it('say which transaction deploys the account: the first, until it can never be included', () => {
    after()
      .when(assign('a', { isDeployed: false }))
      .then([assigned('a', 0n, true)]);
    after(assigned('a', 0n, true))
      .when(assign('b', { isDeployed: false }))
      .then([assigned('b', KEY_1)]);
    after(assigned('a', 0n, true))
      .when(assign('b', { isDeployed: false, dropped: new Set(['a']) }))
      .then([assigned('b', 0n, true)]);
    after(assigned('a', 0n, true), released('a', 0n))
      .when(assign('b', { isDeployed: false }))
      .then([assigned('b', 0n, true)]);
  });
});
