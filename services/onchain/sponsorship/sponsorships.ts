import { sponsorshipStream, type SponsorshipEvent } from '../../../schemas/events/onchain/sponsorship-events.ts';
import { systemMetadata } from '../../../shared/event-store/transactions/own-metadata.ts';
import type { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { TtlCache } from '../../../shared/primitives/ttl-cache.ts';
import { idOfOperation } from '../transactions/domain/transaction.ts';
import { loadTransaction } from '../transactions/load-transaction.ts';
import {
  heldBy,
  isReserved,
  release,
  reserve,
  reserveAgain,
  settle,
  spendingOn,
  sponsorshipFold,
  type OperationSlot,
  type ReleaseReason,
  type SignatureToReserve,
  type SponsoredInclusion,
  type Sponsorship,
  type SponsorshipLimits,
} from './domain/sponsorship.ts';
import { GatheredDecisions } from './gathered-decisions.ts';

const DAY_MS = 86_400_000;
const APPS_MAX = 1_000;
const NONE: ReadonlySet<string> = new Set();

export interface ReservationRequest extends Pick<SponsorshipLimits, 'policy' | 'deposit'> {
  /** Of the app that pays. */
  appId: string;
  signature: SignatureToReserve;
  entryPoint: string;
}

/** Keeps account of the paymaster's possible and actual costs, in one stream for each app and UTC day. */
export class Sponsorships {
  private readonly decisions: GatheredDecisions<Sponsorship, SponsorshipEvent>;
  /** Streams of former days in which nothing is reserved. */
  private readonly over: TtlCache<true>;
  /** By chain, what was reserved here since the start, whatever became of it. */
  private readonly reservedHere = new Map<number, bigint>();

  constructor(private readonly transactor: Transactor) {
    const { clock, ids } = transactor;
    const metadata = () => systemMetadata(ids, 'sponsorships');
    this.decisions = new GatheredDecisions(transactor, sponsorshipFold, metadata, ({ before, state }) => {
      for (const chainId of Object.keys(state.chains).map(Number))
        this.count(chainId, moreReserved(before, state, chainId));
    });
    this.over = new TtlCache(clock, { max: APPS_MAX, ttlMs: DAY_MS });
  }

  /**
   * Reserves the maximum cost of a paymaster's signature, before anybody gets the signature. The same signature again reserves
   * nothing; another one of its slot reserves only the difference.
   * @returns the stream of the signature: today's, or yesterday's if its slot is reserved there
   * @param request with the current `deposit`: the caller awaits nothing between reading it and this call
   * @throws Refusal sponsorship_refused with the rule `user_day`, `day` or `deposit`
   */
  async reserve({ appId, signature, policy, deposit, entryPoint }: ReservationRequest): Promise<{ stream: string }> {
    const { chainId, userId, transactionId } = signature;
    const asked = this.reservedSoFar(chainId);
    const stream = await this.streamOf(appId, signature);
    const sent = transactionId === null ? await this.sentOf(stream, { chainId, userId, entryPoint }) : NONE;
    const nowMs = this.transactor.clock.now();
    await this.decisions.decide(stream, (state, before) => {
      // The deposit does not include reservations made after the caller read it, or decided in the same append.
      const meanwhile = this.reservedSoFar(chainId) - asked + moreReserved(before, state, chainId);
      const reservedWei = deposit.reservedWei + meanwhile;
      return reserve(state, { ...signature, appId }, { policy, deposit: { ...deposit, reservedWei }, sent, nowMs });
    });
    return { stream };
  }

  /** @param stream as `reserve` returned it */
  settle(stream: string, inclusion: SponsoredInclusion): Promise<void> {
    return this.decisions.decide(stream, (state) => settle(state, inclusion));
  }

  /** Reserves again for a settled operation whose block left the chain. */
  reserveAgain(stream: string, inclusion: Omit<SponsoredInclusion, 'costWei' | 'blockNumber'>): Promise<void> {
    return this.decisions.decide(stream, (state) => reserveAgain(state, inclusion));
  }

  release(stream: string, slot: OperationSlot, why: ReleaseReason): Promise<void> {
    return this.decisions.decide(stream, (state) => release(state, slot, why));
  }

  /** Returns the sum of all reservations of this process, whatever became of them. */
  reservedSoFar(chainId: number): bigint {
    return this.reservedHere.get(chainId) ?? 0n;
  }

  private count(chainId: number, wei: bigint): void {
    this.reservedHere.set(chainId, this.reservedSoFar(chainId) + wei);
  }

  /** Returns the operations of a user that the paymaster signed over `/rpc` and that were sent here since. */
  private async sentOf(
    stream: string,
    { chainId, userId, entryPoint }: { chainId: number; userId: string; entryPoint: string },
  ): Promise<ReadonlySet<string>> {
    const { state } = await this.transactor.load(stream, sponsorshipFold);
    const hashes = heldBy(state, { chainId, userId }).flatMap(({ userOpHashes }) => userOpHashes);
    const sent = new Set<string>();
    for (const hash of hashes) {
      if (await loadTransaction(this.transactor, idOfOperation(chainId, entryPoint, hash))) sent.add(hash);
    }
    return sent;
  }

  private async streamOf(appId: string, slot: OperationSlot): Promise<string> {
    const nowMs = this.transactor.clock.now();
    const yesterday = sponsorshipStream(appId, utcDay(nowMs - DAY_MS));
    if (!this.over.get(yesterday)) {
      const { state } = await this.transactor.load(yesterday, sponsorshipFold);
      if (isReserved(state, slot)) return yesterday;
      if (Object.values(state.chains).every(({ reservedWei }) => reservedWei === 0n)) this.over.set(yesterday, true);
    }
    return sponsorshipStream(appId, utcDay(nowMs));
  }
}

/** At least 0: more may have been settled or released than reserved. */
const moreReserved = (before: Sponsorship, after: Sponsorship, chainId: number): bigint => {
  const wei = spendingOn(after, chainId).reservedWei - spendingOn(before, chainId).reservedWei;
  return wei > 0n ? wei : 0n;
};

/** `2026-01-31` */
export const utcDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);
