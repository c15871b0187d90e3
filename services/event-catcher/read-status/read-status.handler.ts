import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { WatchStatus } from '../../../schemas/http/event-catcher-routes.ts';
import { CLOCK, READ_STORE } from '../../../shared/edge/tokens.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { recordWatchIds } from '../../../shared/chain/watch-id.ts';
import { findNamed } from '../../../shared/chain/watch-names.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { isStopped, type WatchDocument } from '../../../shared/read-models/watches.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { pauseText } from '../domain/stopped-watch.ts';
import { progressOf, verifiedBlockOf } from '../domain/watch-progress.ts';
import { FOLLOWER_STATUS, type FollowerStatus } from '../edge/ports.ts';
import { WatchModels } from '../edge/watch-models.ts';

export class ReadStatus extends Query<WatchStatus> {
  constructor(
    readonly asked: { chainId: number; contractAddress: string; eventName: string; watchId?: string | undefined },
  ) {
    super();
  }
}

const { count } = chainEventsModel.collections;

@QueryHandler(ReadStatus)
export class ReadStatusHandler implements IQueryHandler<ReadStatus> {
  constructor(
    @Inject(READ_STORE) private readonly readStore: ReadStore,
    private readonly models: WatchModels,
    @Inject(FOLLOWER_STATUS) private readonly follower: FollowerStatus,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async execute({ asked }: ReadStatus): Promise<WatchStatus> {
    const { chainId, eventName: name, watchId } = asked;
    const contractAddress = readAddressMember('contractAddress', asked.contractAddress);
    const watches = await this.models.ofContract(chainId, contractAddress);
    const watch = findNamed(watches, 'eventName', { name, watchId });
    if (!watch) throw new Refusal('watch_not_found', 'the contract has no registered event of this name or signature');
    const [chain, verification, eventsTotal] = await Promise.all([
      this.models.chain(chainId),
      this.models.verification(chainId),
      this.eventsTotal(watch),
    ]);
    const progress = progressOf(watch, chain);
    const { state, currentBlockNumber, blocksLeft, gaps } = progress;
    const { eventsPerSecond, blocksPerSecond } = this.follower.ratesOf(watch);
    const error = isStopped(watch) ? null : this.follower.errorOf(watch);
    const warning = isStopped(watch) ? pauseText(watch.paused) : this.follower.warningOf(chainId);
    return {
      id: watch.id,
      chainId,
      contractAddress,
      eventName: watch.eventName,
      state: error === null ? state : 'failed',
      startBlock: watch.startBlock,
      currentBlockNumber,
      headBlock: chain?.head ?? null,
      finalizedBlock: chain?.finalized ?? null,
      lagBlocks: chain ? Math.max(0, chain.head - currentBlockNumber) : null,
      lagSeconds: chain ? secondsBetween(Date.parse(chain.headTime), this.clock.now()) : null,
      eventsTotal,
      eventsPerSecond,
      etaSeconds: state === 'live' ? 0 : secondsFor(blocksLeft, blocksPerSecond),
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

const secondsFor = (blocks: number, blocksPerSecond: number): number | null =>
  blocksPerSecond > 0 ? Math.ceil(blocks / blocksPerSecond) : null;
