import { describe, expect, it } from '@jest/globals';
import type { SponsorshipEvent } from '../../../../schemas/events/onchain/sponsorship-events.ts';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { expectNothingTheSecondTime, given, refusalBy } from '../../../../shared/testing/given.ts';
import {
  isReserved,
  release,
  reserve,
  reserveAgain,
  settle,
  spendingOn,
  sponsorshipFold,
  type SignatureToReserve,
  type Sponsorship,
  type SponsorshipLimits,
} from './sponsorship.ts';

const NOON = Date.parse('2026-01-02T12:00:00.000Z');
const SENDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const hashOf = (digit: string) => `0x${digit.repeat(64)}`;
const slot = { chainId: 2484, sender: SENDER, nonce: 7n };
const storedSlot = { chainId: 2484, sender: SENDER, nonce: '7' };
const signature = (changes: Partial<SignatureToReserve> = {}) => ({
  ...{ appId: 'app_1', transactionId: 'tx_1', userOpHash: hashOf('a'), ...slot, userId: 'usr_1' },
  ...{ maxCostWei: 100n, validUntilMs: NOON, headBlock: 5 },
  ...changes,
});
const second = signature({ transactionId: null, userOpHash: hashOf('b') });
const limits = (dayWei: string | null, userDayWei: string | null = null, depositWei = 1_000n): SponsorshipLimits => ({
  policy: { dayWei, userDayWei },
  deposit: { wei: depositWei, reservedWei: 0n },
  ...{ sent: new Set<string>(), nowMs: NOON - 60_000 },
});
const open = limits(null);
const inclusion = { ...slot, userOpHash: hashOf('a'), costWei: 60n, blockHash: hashOf('1'), blockNumber: 6 };
const elsewhere = { ...inclusion, costWei: 70n, blockHash: hashOf('2') };

type Decide = (state: Sponsorship) => SponsorshipEvent[];
const reserving =
  (changes: Partial<SignatureToReserve> = {}, within = open): Decide =>
  (state) =>
    reserve(state, signature(changes), within);
const settling =
  (one = inclusion): Decide =>
  (state) =>
    settle(state, one);
const leaving =
  (one = inclusion): Decide =>
  (state) =>
    reserveAgain(state, one);
const releasing: Decide = (state) => release(state, slot, { reason: 'nonce_used' });

/** The state after these decisions, one after the other. */
const after = (...decisions: Decide[]) =>
  decisions.reduce(
    ({ history }, decide) => {
      const more = decide(given(sponsorshipFold, history).state).map((event) => [event, NOON] as const);
      const longer = [...history, ...more];
      return { history: longer, ...given(sponsorshipFold, longer) };
    },
    { history: [] as (readonly [SponsorshipEvent, number])[], ...given(sponsorshipFold, []) },
  );
const spent = (...decisions: Decide[]) => spendingOn(after(...decisions).state, 2484);

describe('what a paymaster may spend for an app on a day', () => {
  it('is reserved before it signs', () => {
    expect(reserving()(sponsorshipFold.initial)).toEqual([
      {
        type: 'SponsorshipReserved',
        data: {
          ...{ appId: 'app_1', transactionId: 'tx_1', userOpHash: hashOf('a'), ...storedSlot, userId: 'usr_1' },
          ...{ maxCostWei: '100', validUntil: '2026-01-02T12:00:00.000Z', headBlock: 5 },
        },
      },
    ]);
    expect(spent(reserving())).toEqual({ reservedWei: 100n, settledWei: 0n, operations: 1 });
  });

  it('is the same for each decision that is taken again', () => {
    const { state } = after(reserving());
    expectNothingTheSecondTime(sponsorshipFold, sponsorshipFold.initial, reserving(), NOON);
    expectNothingTheSecondTime(sponsorshipFold, state, settling(), NOON);
    expectNothingTheSecondTime(sponsorshipFold, state, releasing, NOON);
    expectNothingTheSecondTime(sponsorshipFold, after(reserving(), settling()).state, leaving(), NOON);
  });

  it('counts further signatures of a nonce once, by the largest', () => {
    const more = (maxCostWei: bigint, digit: string) => reserving({ ...second, maxCostWei, userOpHash: hashOf(digit) });
    expect(spent(reserving(), more(90n, 'b'))).toEqual({ reservedWei: 100n, settledWei: 0n, operations: 1 });
    expect(spent(reserving(), more(130n, 'b'), more(110n, 'c')).reservedWei).toBe(130n);
  });

  it('is set aside for three operations of a user at a time that were signed over /rpc and not sent', () => {
    const signing = (nonce: bigint, { sent = [], nowMs = NOON - 60_000 }: { sent?: string[]; nowMs?: number } = {}) => {
      const one = { transactionId: null, nonce, userOpHash: hashOf(String(nonce)), validUntilMs: nowMs + 120_000 };
      return reserving(one, { ...open, sent: new Set(sent), nowMs });
    };
    const three = [signing(1n), signing(2n), signing(3n)];
    const { state } = after(...three);
    const placeTaken = (events: readonly SponsorshipEvent[]) =>
      events.map(({ data }) => ('inPlaceOf' in data ? data.inPlaceOf : undefined));
    expect(placeTaken(signing(4n)(state))).toEqual([{ sender: SENDER, nonce: '1' }]);
    const within = reserving(
      { transactionId: null, nonce: 4n, userOpHash: hashOf('4') },
      { ...open, ...limits('300') },
    );
    expect(spent(...three, within)).toEqual({ reservedWei: 300n, settledWei: 0n, operations: 3 });
    for (const frees of [{ sent: [hashOf('2')] }, { nowMs: NOON + 60_001 }])
      expect(placeTaken(signing(4n, frees)(state))).toEqual([undefined]);
    const again = reserving({ transactionId: null, nonce: 3n, userOpHash: hashOf('9') }, open);
    expect(placeTaken(again(state))).toEqual([undefined]);
    const other = reserving({ transactionId: null, nonce: 4n, userOpHash: hashOf('4'), userId: 'usr_2' });
    expect(placeTaken(other(state))).toEqual([undefined]);
  });

  it('is settled too of an operation that has lost its place, of which a user has few', () => {
    const signing = (at: number) =>
      reserving(
        { transactionId: null, nonce: BigInt(at), userOpHash: hashOf(at.toString(16)), validUntilMs: NOON + 60_000 },
        { ...open, nowMs: NOON - 60_000 },
      );
    const ten = Array.from({ length: 10 }, (_, at) => signing(at));
    const { state } = after(...ten);
    expect(spendingOn(state, 2484)).toEqual({ reservedWei: 300n, settledWei: 0n, operations: 3 });
    expect(refusalBy(() => signing(10)(state))).toMatchObject({ code: 'sponsorship_refused', retryAfter: 120 });
    const included = settling({ ...inclusion, nonce: 0n, userOpHash: hashOf('0') });
    expect(spent(...ten, included)).toEqual({ reservedWei: 300n, settledWei: 60n, operations: 4 });
    expect(signing(10)(after(...ten, included).state)).toHaveLength(1);
    // Another signature of it has a place again.
    const again = reserving(
      { transactionId: null, nonce: 0n, userOpHash: hashOf('f') },
      { ...open, nowMs: NOON - 60_000 },
    );
    expect(spent(...ten, again)).toEqual({ reservedWei: 300n, settledWei: 0n, operations: 3 });
  });

  it('is signed for at most a hundred times for one nonce and user, and is sent all the same', () => {
    const signing = (at: number, changes: Partial<SignatureToReserve> = {}) =>
      reserving({ ...second, userOpHash: `0x${String(at).padStart(64, '0')}`, ...changes });
    const { state } = after(...Array.from({ length: 100 }, (_, at) => signing(at)));
    expect(refusalBy(() => signing(100)(state))).toMatchObject({ code: 'sponsorship_refused', members: {} });
    expect(signing(99)(state)).toEqual([]);
    for (const other of [{ transactionId: 'tx_1' }, { userId: 'usr_2' }, { nonce: 8n }])
      expect(signing(100, other)(state)).toHaveLength(1);
  });

  it.each([
    ['day', limits('150')],
    ['user_day', limits(null, '150')],
    ['user_day', limits('150', '150')],
    ['deposit', { ...limits(null, null, 250n), deposit: { wei: 250n, reservedWei: 200n } }],
  ])('is refused by %s where it would exceed the limit, and counts only what is more', (rule, within) => {
    const { state } = after(reserving());
    const refusal = refusalBy(() => reserving({ ...second, nonce: 8n, maxCostWei: 51n }, within)(state));
    expect(refusal).toMatchObject({ code: 'sponsorship_refused', members: { rule } });
    expect(reserving({ ...second, nonce: 8n, maxCostWei: 50n }, within)(state)).toHaveLength(1);
    expect(reserving({ ...second, maxCostWei: 150n }, within)(state)).toHaveLength(1);
    expect(() => reserving({ ...second, maxCostWei: 151n }, within)(state)).toThrow(Refusal);
  });

  it('is limited for each chain and each user by itself', () => {
    const { state } = after(reserving());
    const within = limits('150', '100');
    expect(reserving({ ...second, nonce: 8n, userId: 'usr_2', maxCostWei: 50n }, within)(state)).toHaveLength(1);
    expect(reserving({ ...second, chainId: 1, maxCostWei: 100n }, within)(state)).toHaveLength(1);
  });

  it('counts what was settled against the limit, and gives back the rest', () => {
    const { state } = after(reserving(), settling());
    expect(spendingOn(state, 2484)).toEqual({ reservedWei: 0n, settledWei: 60n, operations: 1 });
    expect(reserving({ ...second, nonce: 8n, maxCostWei: 90n }, limits('150'))(state)).toHaveLength(1);
    expect(() => reserving({ ...second, nonce: 8n, maxCostWei: 91n }, limits('150'))(state)).toThrow(Refusal);
  });
});

describe('a reservation', () => {
  it('is settled by the operation that was included, of all that were signed for its nonce', () => {
    const b = { ...inclusion, userOpHash: hashOf('b') };
    after(reserving(), reserving({ ...second, maxCostWei: 120n })).decides(settling(b), [
      {
        type: 'SponsorshipSettled',
        data: {
          ...{ appId: 'app_1', ...storedSlot, userOpHash: hashOf('b'), costWei: '60' },
          ...{ blockHash: hashOf('1'), blockNumber: 6 },
        },
      },
    ]);
    after(reserving()).decides(settling(b), []);
    after().decides(settling(), []);
  });

  it('is settled in another block once more, and counted once', () => {
    expect(spent(reserving(), settling(), settling(elsewhere))).toEqual({
      ...{ reservedWei: 0n, settledWei: 70n, operations: 1 },
    });
  });

  it('is reserved again by the former amounts when its block leaves the chain, and no other block', () => {
    const { state, decides } = after(reserving(), reserving({ ...second, maxCostWei: 120n }), settling());
    decides(leaving(elsewhere), []);
    const [event] = leaving()(state);
    expect(event).toMatchObject({
      type: 'SponsorshipReserved',
      data: { transactionId: 'tx_1', userOpHash: hashOf('a'), maxCostWei: '120', headBlock: 5 },
    });
    const again = after(reserving(), reserving({ ...second, maxCostWei: 120n }), settling(), leaving());
    expect(spendingOn(again.state, 2484)).toEqual({ reservedWei: 120n, settledWei: 0n, operations: 1 });
    expect(settling({ ...inclusion, userOpHash: hashOf('b') })(again.state)).toHaveLength(1);
  });

  it('is reserved again from the earliest head at which one of its signatures was given', () => {
    const given3 = reserving({ ...second, headBlock: 3 });
    const given9 = reserving({ ...second, userOpHash: hashOf('c'), headBlock: 9 });
    const [event] = leaving()(after(reserving(), given3, given9, settling()).state);
    expect(event).toMatchObject({ data: { headBlock: 3 } });
  });

  it('has room for each signature once, whatever becomes of it', () => {
    const room = (...decisions: Decide[]) => sponsorshipFold.characters(after(...decisions).state);
    expect(room()).toBe(0);
    expect(room(reserving())).toBeGreaterThan(0);
    expect(room(reserving(), reserving(second))).toBe(2 * room(reserving()));
    expect(room(reserving(), settling(), leaving(), releasing)).toBe(room(reserving()));
  });

  it('that nobody made is not settled or released', () => {
    const { history } = after(reserving(), settling(), leaving(), releasing);
    const [, settled, , released] = history;
    for (const event of [settled, released]) {
      expect(given(sponsorshipFold, event ? [event] : []).state).toEqual(sponsorshipFold.initial);
    }
  });

  it('of an operation that is settled takes further signatures, which reserve nothing until it is undone', () => {
    const more = reserving({ ...second, maxCostWei: 300n });
    expect(spent(reserving(), settling(), more)).toEqual({ reservedWei: 0n, settledWei: 60n, operations: 1 });
    expect(spent(reserving(), settling(), more, leaving()).reservedWei).toBe(300n);
  });

  it('is released when its nonce is used, and no more says so', () => {
    after(reserving(), reserving(second)).decides(releasing, [
      {
        type: 'SponsorshipReleased',
        data: { appId: 'app_1', ...storedSlot, userOpHash: hashOf('b'), reason: 'nonce_used' },
      },
    ]);
    expect(spent(reserving(), releasing)).toEqual({ reservedWei: 0n, settledWei: 0n, operations: 0 });
    after(reserving(), settling()).decides(releasing, []);
    after().decides(releasing, []);
  });

  it('expires only when the latest of its signatures has', () => {
    const { state } = after(reserving({ validUntilMs: NOON + 1_000 }), reserving(second));
    const expiring = (finalBlockTimeMs: number) => release(state, slot, { reason: 'expired', finalBlockTimeMs });
    expect(expiring(NOON + 1_000)).toEqual([]);
    expect(expiring(NOON + 1_001)).toHaveLength(1);
  });

  it('that was released begins anew with the next signature, and the former ones stay known', () => {
    const anew = [reserving(), releasing, reserving({ ...second, maxCostWei: 40n })];
    expect(spent(...anew)).toEqual({ reservedWei: 40n, settledWei: 0n, operations: 1 });
    after(...anew).decides(reserving(), []);
    expect(spent(reserving(), releasing, settling()).settledWei).toBe(60n);
  });

  it('is shared while it is not released', () => {
    expect(isReserved(after().state, slot)).toBe(false);
    expect(isReserved(after(reserving()).state, slot)).toBe(true);
    expect(isReserved(after(reserving(), settling()).state, slot)).toBe(true);
    expect(isReserved(after(reserving(), releasing).state, slot)).toBe(false);
    expect(isReserved(after(reserving()).state, { ...slot, sender: SENDER.toLowerCase() })).toBe(true);
  });
});
