import { Inject, Injectable } from '@nestjs/common';
import {
  watchedContract,
  type WatchedContract,
  type WatchState,
  type WatchStatus,
} from '../../../schemas/http/event-catcher/watched-contract.ts';
import { CLOCK } from '../../../shared/edge/tokens.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import type { ChainDocument } from '../../../shared/read-models/event-catcher/chains.ts';
import {
  isStopped,
  pauseText,
  type Watch,
  type WatchDocument,
} from '../../../shared/read-models/event-catcher/watches.ts';
import { gapAdvice, progressOf, verifiedBlockOf } from '../domain/watches/watch-progress.ts';
import { FOLLOWER_STATUS, type FollowerStatus } from './ports.ts';
import { WatchModels } from './watch-models.ts';

/** Tells how far watches have been read, for the routes and the command line. */
@Injectable()
export class WatchStatuses {
  constructor(
    private readonly models: WatchModels,
    @Inject(FOLLOWER_STATUS) private readonly follower: FollowerStatus,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** A watch, as routes return it. */
  answerOf(watch: WatchDocument, chain: ChainDocument | undefined): WatchedContract {
    const hasFailed = !isStopped(watch) && this.follower.statusOf(watch).error !== null;
    return watchedContract.parse({ ...watch, state: hasFailed ? 'failed' : progressOf(watch, chain).state });
  }

  /** The state of a watch right after a command. The read models may not contain it yet. */
  async stateOf(watch: Watch): Promise<WatchState> {
    if (isStopped(watch)) return 'paused';
    if (this.follower.statusOf(watch).error !== null) return 'failed';
    const known = await this.models.findProjected(watch.id);
    if (!known || isStopped(known)) return 'backfilling';
    return progressOf(known, await this.models.chainOf(known.chainId, [known.id])).state;
  }

  async statusOf(watch: WatchDocument): Promise<WatchStatus> {
    const { chainId } = watch;
    const [chain, verification, eventsTotal] = await Promise.all([
      this.models.chainOf(chainId, [watch.id]),
      this.models.verification(chainId),
      this.models.eventsTotal(watch.id),
    ]);
    const progress = progressOf(watch, chain);
    const { state, currentBlockNumber, blocksLeft, gaps } = progress;
    const { eventsPerSecond, blocksPerSecond, ...found } = this.follower.statusOf(watch);
    const error = isStopped(watch) ? null : found.error;
    const warning = isStopped(watch) ? pauseText(watch.paused) : (found.warning ?? gapAdvice(gaps));
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
}

/** Never negative: the clock of a chain may be ahead of this one. */
const secondsBetween = (fromMs: number, toMs: number): number => Math.max(0, Math.round((toMs - fromMs) / 1_000));

/** Returns `null` if nothing is being read, or nothing is left to read. */
const secondsFor = (blocks: number, blocksPerSecond: number): number | null =>
  blocks > 0 && blocksPerSecond > 0 ? Math.ceil(blocks / blocksPerSecond) : null;
