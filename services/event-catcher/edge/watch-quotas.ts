import { Inject, Injectable } from '@nestjs/common';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { quotaOf, type QuotaName } from '../../../schemas/http/quotas.ts';
import type { Settings } from '../../../shared/config/settings.ts';
import { CLOCK, SETTINGS } from '../../../shared/edge/tokens.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import {
  appQuotaStream,
  claimsFold,
  countedClaim,
  returnQuota,
  takeQuota,
  userQuotaStream,
  type Claim,
} from '../domain/claims.ts';
import { watchFold, watchStream } from '../domain/watch.ts';

/** After that a claim without a registration was left over by a process that died: a registration takes a few seconds. */
const LEFT_OVER_AFTER_MS = 60_000;
const LOADED_AT_ONCE = 50;

/** Counts the registrations of users and apps. */
@Injectable()
export class WatchQuotas {
  private readonly lookedAt = new Map<string, number>();

  constructor(
    private readonly transactor: Transactor,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'QUOTAS'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Counts a claim for its app, and for its user where there is one, before it is registered.
   * @throws Refusal quota_exceeded
   */
  async take(
    { userId, ...claimed }: Omit<Claim, 'userId'> & { userId: string | null },
    metadata: EventMetadata,
  ): Promise<void> {
    if (userId === null) {
      await this.takeIn(appQuotaStream(claimed.appId), 'appWatches', { ...claimed, userId: claimed.appId }, metadata);
      return;
    }
    const claim = { ...claimed, userId };
    const ofUser = userQuotaStream(claim.userId);
    await this.takeIn(ofUser, 'userWatches', claim, metadata);
    try {
      const counted = await this.takeIn(appQuotaStream(claim.appId), 'appWatches', claim, metadata);
      if (counted && counted.userId !== claim.userId) await this.returnIn(ofUser, claim, metadata);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'quota_exceeded') await this.returnIn(ofUser, claim, metadata);
      throw error;
    }
  }

  /** The app holds the watch no more. */
  async return(claim: Pick<Claim, 'appId' | 'watchId'>, metadata: EventMetadata): Promise<void> {
    const { state } = await this.transactor.load(appQuotaStream(claim.appId), claimsFold);
    const counted = countedClaim(state, claim);
    if (!counted) return;
    await this.returnIn(userQuotaStream(counted.userId), counted, metadata);
    await this.returnIn(appQuotaStream(counted.appId), counted, metadata);
  }

  private async takeIn(stream: string, rule: QuotaName, claim: Claim, metadata: EventMetadata) {
    const most = quotaOf(this.settings, rule);
    const take = () =>
      this.transactor.transact({
        stream,
        fold: claimsFold,
        metadata,
        decide: (claims) => takeQuota(claims, claim, { rule, most }),
      });
    try {
      return countedClaim((await take()).state, claim);
    } catch (error) {
      if (!(error instanceof Refusal) || !(await this.returnLeftOver(stream, metadata))) throw error;
      return countedClaim((await take()).state, claim);
    }
  }

  private async returnIn(stream: string, claim: Claim, metadata: EventMetadata): Promise<void> {
    const decide = (claims: typeof claimsFold.initial) => returnQuota(claims, claim);
    await this.transactor.transact({ stream, fold: claimsFold, metadata, decide });
  }

  /** Returns what was counted and never registered, or not returned when it was removed. Looks once a minute at most. */
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
          if (watch?.apps.includes(claim.appId)) return;
          await this.returnIn(stream, claim, metadata);
          returned += 1;
        }),
      );
    }
    return returned > 0;
  }
}
