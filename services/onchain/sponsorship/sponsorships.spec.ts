import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryEventStore } from '../../../shared/testing/engines/event-store.memory.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { systemIds } from '../../../shared/primitives/ids.ts';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import type { SignatureToReserve } from './domain/sponsorship.ts';
import { Sponsorships, type ReservationRequest } from './sponsorships.ts';

const TODAY = 'sponsorship-app_1-2026-01-02';
const TOMORROW = 'sponsorship-app_1-2026-01-03';
const ENTRY_POINT = '0x0000000071727De22E5E9d8BAf0edAc6f37da032';
const SENDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const SECOND_MS = 1_000;
const hashOf = (number: number) => `0x${String(number).padStart(64, '0')}`;

class CountingEventStore extends MemoryEventStore {
  appends = 0;

  override append(...args: Parameters<MemoryEventStore['append']>) {
    this.appends += 1;
    return super.append(...args);
  }
}

describe('sponsorships', () => {
  let clock: TestClock;
  let store: CountingEventStore;
  let sponsorships: Sponsorships;
  const request = (
    nonce: number,
    { dayWei = null, depositWei = 10_000n, ...changes }: Partial<SignatureToReserve> & Limits = {},
  ): ReservationRequest => ({
    appId: 'app_1',
    signature: {
      ...{
        transactionId: `tx_${String(nonce)}`,
        userOpHash: hashOf(nonce),
        chainId: 1,
        sender: SENDER,
        nonce: BigInt(nonce),
      },
      ...{ userId: 'usr_1', maxCostWei: 100n, validUntilMs: clock.now() + 600 * SECOND_MS, headBlock: 1 },
      ...changes,
    },
    policy: { dayWei, userDayWei: null },
    deposit: { wei: depositWei, reservedWei: 0n },
    entryPoint: ENTRY_POINT,
  });
  interface Limits {
    dayWei?: string | null;
    depositWei?: bigint;
  }
  const typesIn = async (stream: string) => (await store.read(stream)).map(({ type }) => type);
  /** Reserves for so many nonces at once. */
  const reserveAll = (count: number, limits: Limits) =>
    Promise.allSettled(Array.from({ length: count }, (_, nonce) => sponsorships.reserve(request(nonce, limits))));

  beforeEach(() => {
    clock = new TestClock(Date.parse('2026-01-02T23:59:50.000Z'));
    store = new CountingEventStore(clock);
    sponsorships = new Sponsorships(new Transactor(store, clock, systemIds));
  });

  it.each([
    ['day', { dayWei: '500' }],
    ['deposit', { depositWei: 500n }],
  ])('let exactly as many of two hundred at once pass as the %s allows, in few appends', async (rule, limits) => {
    const outcomes = await reserveAll(200, limits);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused).toHaveLength(195);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'sponsorship_refused', members: { rule } });
    expect(await typesIn(TODAY)).toEqual(Array.from({ length: 5 }, () => 'SponsorshipReserved'));
    expect(store.appends).toBeLessThanOrEqual(2);
  });

  it('answer each of those that are refused together with others by itself', async () => {
    const [first, second, third] = await Promise.allSettled([
      sponsorships.reserve(request(1, { dayWei: '250' })),
      sponsorships.reserve(request(2, { dayWei: '250', maxCostWei: 151n })),
      sponsorships.reserve(request(3, { dayWei: '250', maxCostWei: 150n })),
    ]);
    expect([first.status, second.status, third.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('keep the accounts of one operation, and say nothing twice', async () => {
    const { signature } = request(1);
    const { stream } = await sponsorships.reserve(request(1));
    const inclusion = { ...signature, costWei: 60n, blockHash: hashOf(9), blockNumber: 9 };
    for (let time = 0; time < 2; time += 1) {
      await sponsorships.reserve(request(1));
      await sponsorships.settle(stream, inclusion);
    }
    for (let time = 0; time < 2; time += 1) await sponsorships.reserveAgain(stream, inclusion);
    for (let time = 0; time < 2; time += 1) await sponsorships.release(stream, signature, { reason: 'nonce_used' });
    expect(stream).toBe(TODAY);
    expect(await typesIn(stream)).toEqual([
      ...['SponsorshipReserved', 'SponsorshipSettled', 'SponsorshipReserved', 'SponsorshipReleased'],
    ]);
  });

  it('count on the UTC day of the reservation, and further signatures on that of the first', async () => {
    await sponsorships.reserve(request(1));
    clock.time += 20 * SECOND_MS;
    expect(await sponsorships.reserve(request(2))).toEqual({ stream: TOMORROW });
    expect(await sponsorships.reserve(request(1, { userOpHash: hashOf(11) }))).toEqual({ stream: TODAY });
    expect(await sponsorships.reserve(request(1))).toEqual({ stream: TODAY });
    expect(await typesIn(TODAY)).toHaveLength(2);
    const { signature } = request(1);
    await sponsorships.release(TODAY, signature, { reason: 'expired', finalBlockTimeMs: clock.now() + 3_600_000 });
    expect(await sponsorships.reserve(request(1, { userOpHash: hashOf(12) }))).toEqual({ stream: TOMORROW });
  });
});
