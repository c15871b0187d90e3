import { Inject, Injectable } from '@nestjs/common';
import type { WatchStatus } from '../../../schemas/http/watched-contract.ts';
import { recordWatchIds } from '../../../shared/chain/watch-id.ts';
import { CLOCK, READ_STORE } from '../../../shared/edge/tokens.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { isStopped, pauseText, type WatchDocument } from '../../../shared/read-models/watches.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { gapAdvice, progressOf, verifiedBlockOf } from '../domain/watch-progress.ts';
import { FOLLOWER_STATUS, type FollowerStatus } from './ports.ts';
import { WatchModels } from './watch-models.ts';

const { count } = chainEventsModel.collections;

/** Tells how far watches were read, for the route and for the command line. */
@Injectable()
export class WatchStatuses {
  constructor(
    @Inject(READ_STORE) private readonly readStore: Pick<ReadStore, 'getMany'>,
    private readonly models: WatchModels,
    @Inject(FOLLOWER_STATUS) private readonly follower: FollowerStatus,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async statusOf(watch: WatchDocument): Promise<WatchStatus> {
    const { chainId } = watch;
    const [chain, verification, eventsTotal] = await Promise.all([
      this.models.chainOf(chainId, [watch.id]),
      this.models.verification(chainId),
      this.eventsTotal(watch),
    ]);
    const progress = progressOf(watch, chain);
    const { state, currentBlockNumber, blocksLeft, gaps } = progress;
    const { eventsPerSecond, blocksPerSecond } = this.follower.ratesOf(watch);
    const error = isStopped(watch) ? null : this.follower.errorOf(watch);
    const warning = isStopped(watch) ? pauseText(watch.paused) : (this.follower.warningOf(watch) ?? gapAdvice(gaps));
    const told = error === null ? state : 'failed';
    return {
      id: watch.id,
      chainId,
      contractAddress: watch.contractAddress,
      eventName: watch.eventName,
      state: told,
      startBlock: watch.startBlock,
      currentBlockNumber,
      headBlock: chain?.head ?? null,
      finalizedBlock: chain?.finalized ?? null,
      lagBlocks: chain ? Math.max(0, chain.head - currentBlockNumber) : null,
      lagSeconds: chain ? secondsBetween(Date.parse(chain.headTime), this.clock.now()) : null,
      eventsTotal,
      eventsPerSecond,
      etaSeconds: told === 'live' ? 0 : told === 'backfilling' ? secondsFor(blocksLeft, blocksPerSecond) : null,
      verifiedBlock: verifiedBlockOf(watch, verification, progress),
      lastError: error ?? warning,
      gaps,
    };
  }

  private async eventsTotal(watch: WatchDocument): Promise<number> {
    const stored = await this.readStore.getMany(count.name, recordWatchIds(watch));
    const totals = Array.from(stored.values(), ({ document }) => count.document.parse(document).canonical);
    return totals.reduce((sum, total) => sum + total, 0);
  }
}

/** Never negative, though the clock of a chain may be ahead of ours. */
const secondsBetween = (fromMs: number, toMs: number): number => Math.max(0, Math.round((toMs - fromMs) / 1_000));

/** Returns `null` where nothing is read, or nothing is left to read: then nobody knows. */
const secondsFor = (blocks: number, blocksPerSecond: number): number | null =>
  blocks > 0 && blocksPerSecond > 0 ? Math.ceil(blocks / blocksPerSecond) : null;
