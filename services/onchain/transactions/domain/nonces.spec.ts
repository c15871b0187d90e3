import { describe, expect, it } from '@jest/globals';
import type { NonceEvent } from '../../../../schemas/events/onchain/nonce-events.ts';
import { given, givenAt } from '../../../../shared/testing/given.ts';
import {
  assignNonce,
  claimNonce,
  holderOf,
  newestOfKey,
  newestTransactions,
  nonceOfTransaction,
  noncesFold,
  NonceTaken,
  releaseNonce,
  replacedBy,
  reassignNonce,
  type NonceClaim,
} from './nonces.ts';
import { nonceOf } from '../../operations/domain/user-operation.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const account = { chainId: 2484, sender: '0x1234567890AbcdEF1234567890aBcdef12345678' };
const KEY_1 = nonceOf(1n, 0n);
const none = new Set<string>();
const KNOWN = { dropped: none, unstored: none, nowMs: NOON };
const ABANDONED = { unstored: new Set(['a']), nowMs: NOON + 600_000 };

const assigned = (transactionId: string, nonce: bigint, deploys = false): NonceEvent => ({
  type: 'NonceAssigned',
  data: { ...account, nonce: String(nonce), transactionId, deploys },
});
const released = (transactionId: string, nonce: bigint): NonceEvent => ({
  type: 'NonceReleased',
  data: { ...account, nonce: String(nonce), transactionId },
});
const after = givenAt(noncesFold, NOON);
const assign =
  (transactionId: string, options: Partial<Parameters<typeof assignNonce>[2]> = {}) =>
  (nonces: Parameters<typeof assignNonce>[0]) =>
    assignNonce(nonces, transactionId, { ...account, ...KNOWN, usedUp: none, isDeployed: true, ...options });

describe('the nonces of an account', () => {
  it('are of different keys while the transactions before are not included', () => {
    after().decides(assign('a'), [assigned('a', 0n)]);
    after(assigned('a', 0n)).decides(assign('b'), [assigned('b', KEY_1)]);
  });

  it('go on with a key whose last nonce a block has used', () => {
    after(assigned('a', 0n), assigned('b', KEY_1)).decides(assign('c', { usedUp: new Set(['b']) }), [
      assigned('c', KEY_1 + 1n),
    ]);
  });

  it('of a transaction that can never be included are used by the next', () => {
    after(assigned('a', KEY_1)).decides(assign('b', { dropped: new Set(['a']) }), [assigned('b', KEY_1)]);
  });

  it('are those of another key where the one before may have left the chain, and can never be included either', () => {
    after(assigned('a', 0n), assigned('b', 1n)).decides(assign('c', { dropped: new Set(['b']) }), [
      assigned('c', KEY_1),
    ]);
  });

  describe('that operations came signed for', () => {
    const fees = { maxFeePerGas: '20', maxPriorityFeePerGas: '10' };
    const claimed = (transactionId: string, nonce: bigint, paid = fees): NonceEvent => {
      const { type, data } = assigned(transactionId, nonce);
      return { type, data: { ...data, fees: paid } } as NonceEvent;
    };
    const claim =
      (
        transactionId: string,
        changes: Partial<NonceClaim> = {},
        known: Partial<Parameters<typeof claimNonce>[3]> = {},
      ) =>
      (nonces: Parameters<typeof claimNonce>[0]) => {
        const wanted = { ...account, nonce: 0n, deploys: false, maxFeePerGas: 20n, maxPriorityFeePerGas: 10n };
        return claimNonce(nonces, transactionId, { ...wanted, ...changes }, { ...KNOWN, bundled: none, ...known });
      };
    const refused = (why: string, events: NonceEvent[], ...parameters: Parameters<typeof claim>) => {
      const { state } = after(...events);
      expect(() => claim(...parameters)(state)).toThrow(NonceTaken);
      expect(() => claim(...parameters)(state)).toThrow(why);
    };
    const raised = { maxFeePerGas: 22n, maxPriorityFeePerGas: 11n };

    it('are theirs where nobody has them, and stay so', () => {
      after().decides(claim('a'), [claimed('a', 0n)]);
      after(assigned('a', 0n)).decides(claim('b', { nonce: 1n }), [claimed('b', 1n)]);
      after(claimed('a', 0n)).decides(claim('a'), []);
    });

    it('are given away only for a tenth more of both fees, and not from an operation of this service', () => {
      const after10 = { maxFeePerGas: '22', maxPriorityFeePerGas: '11' };
      after(claimed('a', 0n)).decides(claim('b', raised), [claimed('b', 0n, after10)]);
      refused('raise both fees by 10 %', [claimed('a', 0n)], 'b', { ...raised, maxFeePerGas: 21n });
      refused('raise both fees by 10 %', [claimed('a', 0n)], 'b', { ...raised, maxPriorityFeePerGas: 10n });
      const higher = { maxFeePerGas: 200n, maxPriorityFeePerGas: 200n };
      refused('that this service signed', [assigned('a', 0n)], 'b', higher);
      refused('is in a submitted bundle', [claimed('a', 0n)], 'b', raised, { bundled: new Set(['a']) });
    });

    it('are given away of an operation that can never be included, and with them those before', () => {
      const dropped = new Set(['b']);
      after(claimed('b', 0n)).decides(claim('c', {}, { dropped }), [claimed('c', 0n)]);
      after(claimed('a', 0n), claimed('b', 1n)).decides(claim('c', {}, { dropped }), [claimed('c', 0n)]);
      refused('a later nonce of this key', [claimed('a', 0n), claimed('b', 1n)], 'c', raised);
    });

    it('are given away of a transaction that was not stored in ten minutes', () => {
      after(assigned('a', 0n)).decides(claim('b', {}, ABANDONED), [claimed('b', 0n)]);
      const before = { ...ABANDONED, nowMs: ABANDONED.nowMs - 1 };
      refused('that this service signed', [assigned('a', 0n)], 'b', {}, before);
    });

    it('say what they replaced', () => {
      const { state } = after(claimed('a', 0n), claimed('b', 0n));
      expect([replacedBy(state, 'b'), replacedBy(state, 'a')]).toEqual(['a', null]);
      expect(newestOfKey(state, 5n)).toBe('b');
      expect(newestOfKey(state, KEY_1)).toBeUndefined();
      expect(replacedBy(after(claimed('a', 0n), claimed('b', 1n)).state, 'b')).toBeNull();
    });
  });

  it('are assigned once: the same transaction has the same', () => {
    after(assigned('a', 0n)).decides(assign('a'), []);
    const { state } = after(assigned('a', 0n), assigned('b', KEY_1));
    expect(nonceOfTransaction(state, 'b')).toBe(KEY_1);
    expect(nonceOfTransaction(state, 'c')).toBeUndefined();
    expect(newestTransactions(state)).toEqual(['a', 'b']);
  });

  it('of a transaction that was never signed are free again', () => {
    after(assigned('a', 0n)).decides((state) => releaseNonce(state, 'a', account), [released('a', 0n)]);
    after(assigned('a', 0n), released('a', 0n)).decides(assign('b'), [assigned('b', 0n)]);
    after(assigned('a', 0n), assigned('b', 1n), released('b', 1n)).decides(assign('c'), [assigned('c', 1n)]);
    after(assigned('a', 0n)).decides((state) => releaseNonce(state, 'b', account), []);
    expect(newestTransactions(after(assigned('a', 0n), assigned('b', 1n), released('b', 1n)).state)).toEqual([]);
    expect(after(released('a', 0n)).state).toEqual(after().state);
    expect(after(assigned('a', 0n, true), assigned('b', KEY_1), released('b', KEY_1)).state.deployedBy).toBe('a');
    expect(after(assigned('a', 0n), assigned('b', 1n), released('a', 0n)).state).toEqual(
      after(assigned('a', 0n), assigned('b', 1n)).state,
    );
  });

  describe('of a transaction that was not stored in ten minutes', () => {
    it('are given to another one, which deploys the account in its place', () => {
      after(assigned('a', 0n, true), assigned('b', KEY_1)).decides(assign('c', { ...ABANDONED, isDeployed: false }), [
        assigned('c', 0n, true),
      ]);
    });

    it('are given to nobody else before', () => {
      after(assigned('a', 0n, true)).decides(
        assign('c', { ...ABANDONED, nowMs: ABANDONED.nowMs - 1, isDeployed: false }),
        [assigned('c', KEY_1)],
      );
      after(assigned('a', 0n, true)).decides(assign('c', { ...ABANDONED, unstored: none, isDeployed: false }), [
        assigned('c', KEY_1),
      ]);
    });

    it('are given to nobody else once it has asked for its own again', () => {
      after(assigned('a', 0n, true), assigned('b', KEY_1)).decides(assign('a', { ...ABANDONED, isDeployed: false }), [
        assigned('a', 0n, true),
      ]);
      given(noncesFold, [
        [assigned('a', 0n), NOON],
        [assigned('a', 0n), NOON + 1],
      ]).decides(assign('b', ABANDONED), [assigned('b', KEY_1)]);
    });

    it('are given to nobody else if another transaction had them before, which may still be included', () => {
      after(assigned('b', 0n), assigned('a', 0n)).decides(assign('c', ABANDONED), [assigned('c', KEY_1)]);
    });
  });

  it('go to the transaction that replaces another', () => {
    const terms = { ...account, nonce: 0n, deploys: false };
    const { state } = after(assigned('a', 0n), assigned('b', 0n));
    expect(holderOf(state, 0n)).toBe('b');
    expect(holderOf(state, 1n)).toBeUndefined();
    expect(holderOf(state, KEY_1)).toBeUndefined();
    after(assigned('a', 0n)).decides((nonces) => reassignNonce(nonces, 'b', terms), [assigned('b', 0n)]);
    after(assigned('a', 0n), assigned('b', 0n)).decides((nonces) => reassignNonce(nonces, 'b', terms), []);
  });

  it('after one that is replaced stay whose they are', () => {
    const { state } = after(assigned('a', 0n), assigned('b', 1n), assigned('c', 0n, true));
    expect(newestTransactions(state)).toEqual(['b']);
    expect(state.deployedBy).toBe('c');
    after(assigned('a', 0n), assigned('b', 1n), assigned('c', 0n)).decides(assign('d', { usedUp: new Set(['c']) }), [
      assigned('d', KEY_1),
    ]);
  });

  it('say which transaction deploys the account: the first, until it can never be included', () => {
    after().decides(assign('a', { isDeployed: false }), [assigned('a', 0n, true)]);
    after(assigned('a', 0n, true)).decides(assign('b', { isDeployed: false }), [assigned('b', KEY_1)]);
    after(assigned('a', 0n, true)).decides(assign('b', { isDeployed: false, dropped: new Set(['a']) }), [
      assigned('b', 0n, true),
    ]);
    after(assigned('a', 0n, true), released('a', 0n)).decides(assign('b', { isDeployed: false }), [
      assigned('b', 0n, true),
    ]);
  });
});
