import { Inject, Injectable } from '@nestjs/common';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { quotaOf, type QuotaName } from '../../../schemas/http/event-catcher/quotas.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { claimantText } from '../../../shared/chain/identifiers/claimant.ts';
import { CLOCK, SETTINGS } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { Watch } from '../../../shared/read-models/event-catcher/watches.ts';
import {
  appQuotaStream,
  claimsFold,
  returnQuota,
  takeQuota,
  userQuotaStream,
  type Claim,
} from '../domain/watches/claims.ts';
import { removeClaim } from '../domain/watches/stopped-watch.ts';
import { watchFold, watchStream } from '../domain/watches/watch.ts';

/**
 * After this time, a claim without a registration was left by a process that died: a registration takes a few seconds.
 */
const LEFT_OVER_AFTER_MS = 60_000;
const LOADED_AT_ONCE = 50;

interface Counted {
  stream: string;
  rule: QuotaName;
  claim: Claim;
}

/** Counts the claims of users and apps. */
@Injectable()
export class WatchQuotas {
  private readonly lookedAt = new Map<string, number>();

  constructor(
    private readonly transactor: Transactor,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'QUOTAS'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Counts a claim for its app, and for its user if it has one, before it is registered. @throws Refusal quota_exceeded
   */
  async take(claimed: Claim, metadata: EventMetadata): Promise<void> {
    try {
      await this.takeAll(claimed, metadata);
    } catch (error) {
      if (isQuotaExceeded(error)) await this.keepIfRegistered(claimed, metadata);
      throw error;
    }
  }

  /**
   * Counts a claim again after it was registered, because a concurrent removal may have undone the first count. If
   * others have used up the quota since, drops the claim.
   * @returns the refusal with which it was dropped
   */
  async keep(claimed: Claim, metadata: EventMetadata): Promise<Refusal | undefined> {
    try {
      await this.takeAll(claimed, metadata);
      return undefined;
    } catch (error) {
      if (!isQuotaExceeded(error)) throw error;
      const decide = (watch: Watch | undefined) => (isClaimed(watch, claimed) ? removeClaim(watch, claimed) : []);
      await this.transactor.transact({ stream: watchStream(claimed.watchId), fold: watchFold, metadata, decide });
      return error;
    }
  }

  /** Refuses what `take` would refuse, without counting. @throws Refusal quota_exceeded */
  async check(claimed: Claim, metadata: EventMetadata): Promise<void> {
    for (const { stream, rule, claim } of countedIn(claimed)) {
      const most = quotaOf(this.settings, rule);
      await this.withoutLeftOver(stream, metadata, async () => {
        const { state } = await this.transactor.load(stream, claimsFold);
        takeQuota(state, claim, { rule, most });
      });
    }
  }

  /** Undoes the count of a claim that was dropped, unless it was registered again meanwhile. */
  async return(claimed: Claim, metadata: EventMetadata): Promise<void> {
    await this.returnIn(countedIn(claimed), metadata);
    await this.keepIfRegistered(claimed, metadata);
  }

  /** A concurrent registration may have relied on the count that was just undone. */
  private async keepIfRegistered(claimed: Claim, metadata: EventMetadata): Promise<void> {
    const { state } = await this.transactor.load(watchStream(claimed.watchId), watchFold);
    if (isClaimed(state, claimed)) await this.keep(claimed, metadata);
  }

  /** Counts a claim in each of its streams, or in none. @throws Refusal quota_exceeded */
  private async takeAll(claimed: Claim, metadata: EventMetadata): Promise<void> {
    const taken: Counted[] = [];
    try {
      for (const counted of countedIn(claimed)) {
        await this.takeIn(counted, metadata);
        taken.push(counted);
      }
    } catch (error) {
      if (isQuotaExceeded(error)) await this.returnIn(taken, metadata);
      throw error;
    }
  }

  private takeIn({ stream, rule, claim }: Counted, metadata: EventMetadata): Promise<void> {
    const most = quotaOf(this.settings, rule);
    const decide = (claims: typeof claimsFold.initial) => takeQuota(claims, claim, { rule, most });
    return this.withoutLeftOver(stream, metadata, async () => {
      await this.transactor.transact({ stream, fold: claimsFold, metadata, decide });
    });
  }

  private async withoutLeftOver(stream: string, metadata: EventMetadata, take: () => Promise<void>): Promise<void> {
    try {
      await take();
    } catch (error) {
      if (!(error instanceof Refusal) || !(await this.returnLeftOver(stream, metadata))) throw error;
      await take();
    }
  }

  private async returnIn(
    counted: readonly Pick<Counted, 'stream' | 'claim'>[],
    metadata: EventMetadata,
  ): Promise<void> {
    for (const { stream, claim } of counted) {
      const decide = (claims: typeof claimsFold.initial) => returnQuota(claims, claim);
      await this.transactor.transact({ stream, fold: claimsFold, metadata, decide });
    }
  }

  /** Undoes counts whose claim was never registered, or was removed. Checks at most once a minute. */
  private async returnLeftOver(stream: string, metadata: EventMetadata): Promise<boolean> {
    const nowMs = this.clock.now();
    if (nowMs - (this.lookedAt.get(stream) ?? 0) < LEFT_OVER_AFTER_MS) return false;
    this.lookedAt.set(stream, nowMs);
    const { state } = await this.transactor.load(stream, claimsFold);
    const old = Object.values(state).filter(({ sinceMs }) => nowMs - sinceMs >= LEFT_OVER_AFTER_MS);
    let returned = 0;
    for (let at = 0; at < old.length; at += LOADED_AT_ONCE) {
      await Promise.all(
        old.slice(at, at + LOADED_AT_ONCE).map(async ({ sinceMs: _sinceMs, ...claim }) => {
          const { state: watch } = await this.transactor.load(watchStream(claim.watchId), watchFold);
          if (isClaimed(watch, claim)) return;
          await this.returnIn([{ stream, claim }], metadata);
          returned += 1;
        }),
      );
    }
    return returned > 0;
  }
}

const isQuotaExceeded = (error: unknown): error is Refusal =>
  error instanceof Refusal && error.code === 'quota_exceeded';

const isClaimed = (watch: Watch | undefined, claim: Claim): boolean =>
  watch?.claims.includes(claimantText(claim)) === true;

/** The streams in which a claim is counted. A claim of an app itself has no user's stream. */
const countedIn = (claim: Claim): Counted[] => {
  const { appId, userId } = claim;
  const ofApp: Counted = { stream: appQuotaStream(appId), rule: 'appWatches', claim };
  return userId === null ? [ofApp] : [{ stream: userQuotaStream(userId), rule: 'userWatches', claim }, ofApp];
};
