import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Refusal } from '../../../../shared/errors/refusal.ts';
import { frozen } from '../../../../shared/testing/given.ts';
import {
  release,
  reserve,
  reserveAgain,
  settle,
  spendingOn,
  sponsorshipFold,
  type Sponsorship,
} from './sponsorship.ts';
import { casesOf } from '../../../../shared/testing/cases.ts';

const DAY_WEI = 1_000n;
const USER_DAY_WEI = 400n;
const SENDER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const hashOf = (nonce: number, which: number) => `0x${String(nonce * 10 + which).padStart(64, '0')}`;

/** One nonce of a user, as somebody else would keep the books. */
interface Entry {
  user: number;
  /** The cost of each signature by its number. */
  signed: Map<number, bigint>;
  largest: bigint;
  paid?: { which: number; block: number; cost: bigint };
  isOpen: boolean;
}

const step = fc.record({
  kind: fc.constantFrom('reserve', 'reserve', 'reserve', 'settle', 'settle', 'undo', 'release'),
  nonce: fc.nat(12),
  which: fc.nat(2),
  cost: fc.integer({ min: 1, max: 300 }).map(BigInt),
  block: fc.nat(2),
});
type Step = { kind: string; nonce: number; which: number; cost: bigint; block: number };

/** Counts the entries of objects, lists and maps that the new state does not share with the old one. */
const entriesMade = (before: Sponsorship, after: Sponsorship): number => {
  const known = new Set<object>();
  const count = (value: unknown): number => {
    if (typeof value !== 'object' || value === null || known.has(value)) return 0;
    known.add(value);
    const entries = value instanceof Map || value instanceof Set ? [...value].flat() : Object.values(value);
    return entries.reduce<number>((sum, entry) => sum + count(entry), entries.length);
  };
  count(before);
  return count(after);
};

class Books {
  readonly entries = new Map<number, Entry>();

  spent(user?: number): bigint {
    let sum = 0n;
    for (const entry of this.entries.values()) {
      if (user === undefined || entry.user === user) sum += entry.paid?.cost ?? (entry.isOpen ? entry.largest : 0n);
    }
    return sum;
  }

  reserved(): bigint {
    return [...this.entries.values()].reduce(
      (sum, { isOpen, paid, largest }) => sum + (isOpen && !paid ? largest : 0n),
      0n,
    );
  }

  /** Returns whether the limits allow it. */
  reserve({ nonce, which, cost }: Step): boolean {
    const user = nonce % 3;
    const entry: Entry = this.entries.get(nonce) ?? { user, signed: new Map(), largest: 0n, isOpen: false };
    if (entry.signed.has(which)) return true;
    const former = entry.isOpen ? entry.largest : 0n;
    const largest = cost > former ? cost : former;
    const more = entry.paid ? 0n : largest - former;
    if (more > 0n && (this.spent() + more > DAY_WEI || this.spent(user) + more > USER_DAY_WEI)) return false;
    entry.signed.set(which, cost);
    this.entries.set(nonce, { ...entry, largest, isOpen: true });
    return true;
  }

  settle({ nonce, which, cost, block }: Step): void {
    const entry = this.entries.get(nonce);
    if (!entry?.signed.has(which) || (entry.paid?.which === which && entry.paid.block === block)) return;
    this.entries.set(nonce, { ...entry, isOpen: true, paid: { which, block, cost } });
  }

  undo({ nonce, which, block }: Step): void {
    const entry = this.entries.get(nonce);
    if (entry?.paid?.which === which && entry.paid.block === block) delete entry.paid;
  }

  release({ nonce }: Step): void {
    const entry = this.entries.get(nonce);
    if (entry && !entry.paid) entry.isOpen = false;
  }
}

const decide = (state: Sponsorship, { kind, nonce, which, cost, block }: Step) => {
  const slot = { chainId: 1, sender: SENDER, nonce: BigInt(nonce) };
  const inclusion = {
    ...slot,
    userOpHash: hashOf(nonce, which),
    costWei: cost,
    blockHash: hashOf(0, block),
    blockNumber: block,
  };
  if (kind === 'settle') return settle(state, inclusion);
  if (kind === 'undo') return reserveAgain(state, inclusion);
  if (kind === 'release') return release(state, slot, { reason: 'nonce_used' });
  const signature = {
    ...slot,
    appId: 'app_1',
    transactionId: `tx_${String(nonce)}`,
    userId: `usr_${String(nonce % 3)}`,
  };
  const { userOpHash } = inclusion;
  const policy = { dayWei: String(DAY_WEI), userDayWei: String(USER_DAY_WEI) };
  const deposit = { wei: 10n ** 20n, reservedWei: 0n };
  return reserve(
    state,
    { ...signature, userOpHash, maxCostWei: cost, validUntilMs: 1, headBlock: 1 },
    { policy, deposit, sent: new Set(), nowMs: 0 },
  );
};

describe('the accounts of a sponsorship', () => {
  it('are those of a plain recomputation, whatever happens in whichever order and however often', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
        const books = new Books();
        let state = sponsorshipFold.initial;
        for (const one of steps) {
          let isAllowed = true;
          try {
            state = decide(state, one).reduce(
              (before, event) => frozen(sponsorshipFold.evolve(before, event, 0)),
              state,
            );
          } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            isAllowed = false;
          }
          if (one.kind === 'reserve') expect(isAllowed).toBe(books.reserve(one));
          if (one.kind === 'settle') books.settle(one);
          if (one.kind === 'undo') books.undo(one);
          if (one.kind === 'release') books.release(one);
          const { reservedWei, settledWei } = spendingOn(state, 1);
          expect(reservedWei).toBe(books.reserved());
          expect(reservedWei + settledWei).toBe(books.spent());
          for (const user of [0, 1, 2]) {
            const spending = state.users.get(`1/usr_${String(user)}`);
            expect((spending?.reservedWei ?? 0n) + (spending?.settledWei ?? 0n)).toBe(books.spent(user));
          }
        }
      }),
      { numRuns: casesOf(200) },
    );
  });

  it('are kept for 30,000 operations of a day without being copied at each', () => {
    let state = sponsorshipFold.initial;
    const reserveNext = (nonce: number) => {
      const one = { kind: 'reserve', nonce, which: 0, cost: 0n, block: 0 };
      state = decide(state, one).reduce((before, event) => sponsorshipFold.evolve(before, event, 0), state);
    };
    for (let nonce = 0; nonce < 29_999; nonce += 1) reserveNext(nonce);
    const before = state;
    reserveNext(29_999);
    expect(entriesMade(before, state)).toBeLessThan(1_000);
    expect(spendingOn(state, 1).operations).toBe(30_000);
    expect(sponsorshipFold.characters(state)).toBe(30_000 * 256);
  });
});
