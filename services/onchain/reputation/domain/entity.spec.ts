import { describe, expect, it } from '@jest/globals';
import type { EntityEvent } from '../../../../schemas/events/onchain/entity-events.ts';
import { eventExamples } from '../../../../schemas/examples/event-examples.ts';
import { expectNothingTheSecondTime, given, givenAt } from '../../../../shared/testing/given.ts';
import {
  admitOperation,
  banEntity,
  bannedUntil,
  entityFold,
  forgetEntity,
  isForgotten,
  reputationStatus,
  requireNotBanned,
  setReputation,
  Throttled,
  type Entity,
} from './entity.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const HOUR = 3_600_000;
const { chainId, address } = eventExamples.EntityForgotten;
const subject = { chainId, address };
const admitted = (transactionId: string, ...ended: string[]): EntityEvent => ({
  type: 'OperationAdmitted',
  data: { ...subject, transactionId, ended },
});
const banned = (transactionHash: string): EntityEvent => ({
  type: 'EntityBanned',
  data: { ...subject, transactionHash },
});
const reputed = (opsSeen: number, opsIncluded: number): EntityEvent => ({
  type: 'EntityReputationSet',
  data: { ...subject, opsSeen, opsIncluded },
});
const forgotten: EntityEvent = { type: 'EntityForgotten', data: subject };
const of = givenAt(entityFold, NOON);

describe('an entity', () => {
  const admit =
    (transactionId: string, { ended = [] as string[], pendingMax = 2, nowMs = NOON } = {}) =>
    (entity: Entity) =>
      admitOperation(entity, subject, { transactionId, ended, pendingMax }, nowMs);
  const refusalOf = (call: () => unknown): Throttled => {
    try {
      call();
    } catch (error) {
      if (error instanceof Throttled) return error;
      throw error;
    }
    throw new Error('nothing was refused');
  };

  it('has as many pending operations as it may, and no more', () => {
    of().decides(admit('a'), [admitted('a')]);
    of(admitted('a')).decides(admit('b'), [admitted('b')]);
    const refusal = refusalOf(() => admit('c')(of(admitted('a'), admitted('b')).state));
    expect(refusal).toMatchObject({
      name: 'Throttled',
      address,
      message: `${address} has 2 pending operations, which is the most`,
    });
  });

  it('has room for another operation once one of those that are pending has ended', () => {
    const full = of(admitted('a'), admitted('b'));
    full.decides(admit('c', { ended: ['b', 'elsewhere'] }), [admitted('c', 'b')]);
    full.decides(admit('c', { ended: ['a', 'b'] }), [admitted('c', 'a', 'b')]);
    expect(() => admit('c', { ended: ['elsewhere'] })(full.state)).toThrow(Throttled);
    expect(of(admitted('a'), admitted('b'), admitted('c', 'a')).state.pending).toEqual([
      { transactionId: 'b', admittedAt: NOON },
      { transactionId: 'c', admittedAt: NOON },
    ]);
  });

  it('has an operation once, however often that comes', () => {
    const { state, decides } = of(admitted('a'), admitted('b'));
    decides(admit('a'), []);
    of(admitted('a'), banned('hash')).decides(admit('a'), []);
    expectNothingTheSecondTime(entityFold, of().state, admit('a'), NOON);
    expect(state.pending).toHaveLength(2);
  });

  it('is refused for an hour after it reverted a bundle', () => {
    const { state, decides } = of(banned('hash'));
    expect(bannedUntil(state)).toBe(NOON + HOUR);
    for (const decide of [admit('a', { nowMs: NOON + HOUR - 1 }), check(NOON + HOUR - 1)]) {
      const message = `${address} reverted a bundle: it is refused for an hour`;
      expect(refusalOf(() => decide(state))).toMatchObject({ address, message });
    }
    decides(admit('a', { nowMs: NOON + HOUR }), [admitted('a')]);
    expect(() => {
      check(NOON + HOUR)(state);
    }).not.toThrow();
    expect(reputationStatus(state, NOON + HOUR - 1)).toBe('banned');
    expect(reputationStatus(state, NOON + HOUR)).toBe('ok');
  });

  it('is not refused if it never reverted a bundle', () => {
    expect(bannedUntil(of(admitted('a')).state)).toBe(0);
    expect(reputationStatus(of().state, 0)).toBe('ok');
  });

  const check = (nowMs: number) => (entity: Entity) => {
    requireNotBanned(entity, address, nowMs);
  };

  it('is banned once for each transaction that it reverted, and from the newest on', () => {
    const ban = (hash: string) => (entity: Entity) => banEntity(entity, subject, hash);
    of().decides(ban('one'), [banned('one')]);
    of(banned('one'), banned('other')).decides(ban('one'), []);
    of(banned('one'), banned('other')).decides(ban('other'), []);
    of(banned('one')).decides(ban('other'), [banned('other')]);
    const twice = given(entityFold, [
      [banned('one'), NOON],
      [banned('other'), NOON + 1],
    ]);
    expect(bannedUntil(twice.state)).toBe(NOON + 1 + HOUR);
  });

  it.each([
    [109, 0, 'ok'],
    [110, 0, 'throttled'],
    [119, 1, 'ok'],
    [120, 1, 'throttled'],
    [509, 0, 'throttled'],
    [510, 0, 'banned'],
    [519, 1, 'throttled'],
    [520, 1, 'banned'],
    [0, 7, 'ok'],
  ])('of whose operations %i were seen and %i included is %s', (opsSeen, opsIncluded, status) => {
    expect(reputationStatus(of(reputed(opsSeen, opsIncluded)).state, NOON)).toBe(status);
  });

  it('is refused while too few of its operations are included', () => {
    const message = `${address} has too few of its operations included: it is refused`;
    for (const decide of [admit('a'), check(NOON)]) {
      expect(refusalOf(() => decide(of(reputed(510, 0)).state))).toMatchObject({ address, message });
    }
    expect(() => {
      check(NOON)(of(reputed(509, 0)).state);
    }).not.toThrow();
  });

  it('has four pending operations at most while it is throttled', () => {
    const throttled = (...ids: string[]) => of(reputed(110, 0), ...ids.map((id) => admitted(id)));
    throttled('a', 'b', 'c').decides(admit('e', { pendingMax: 10 }), [admitted('e')]);
    expect(() => admit('e', { pendingMax: 10 })(throttled('a', 'b', 'c', 'd').state)).toThrow(/ 4 pending operations/);
    expect(() => admit('e', { pendingMax: 3 })(throttled('a', 'b', 'c').state)).toThrow(/ 3 pending operations/);
    of(...['a', 'b', 'c', 'd'].map((id) => admitted(id))).decides(admit('e', { pendingMax: 10 }), [admitted('e')]);
  });

  it('has the reputation that was set last, which ends what it was refused for', () => {
    const set = (opsSeen: number, opsIncluded: number) => (entity: Entity) =>
      setReputation(entity, subject, { opsSeen, opsIncluded });
    of().decides(set(1, 2), [reputed(1, 2)]);
    of().decides(set(0, 0), [reputed(0, 0)]);
    of(reputed(1, 2)).decides(set(1, 2), []);
    of(reputed(1, 2)).decides(set(1, 3), [reputed(1, 3)]);
    of(reputed(1, 2)).decides(set(3, 2), [reputed(3, 2)]);
    of(reputed(1, 2), banned('hash')).decides(set(1, 2), [reputed(1, 2)]);
    const { state } = of(admitted('a'), banned('hash'), reputed(1, 2));
    expect(state).toEqual({
      pending: [{ transactionId: 'a', admittedAt: NOON }],
      revertedAt: undefined,
      reverted: ['hash'],
      reputation: { opsSeen: 1, opsIncluded: 2 },
    });
  });

  it('is like one that was never seen once it is forgotten, but for the transactions that it reverted', () => {
    const forget = (entity: Entity) => forgetEntity(entity, subject);
    of().decides(forget, []);
    for (const event of [admitted('a'), banned('hash'), reputed(0, 0)]) of(event).decides(forget, [forgotten]);
    const { state, decides } = of(admitted('a'), reputed(1, 2), banned('hash'), forgotten);
    expect(state).toEqual({ ...entityFold.initial, reverted: ['hash'] });
    decides(forget, []);
    decides((entity) => banEntity(entity, subject, 'hash'), []);
  });
});

it('an operation that was admitted is forgotten if it is no transaction after a minute', () => {
  const one = { transactionId: 'a', admittedAt: NOON };
  expect(isForgotten(one, NOON + 60_000)).toBe(false);
  expect(isForgotten(one, NOON + 60_001)).toBe(true);
});
