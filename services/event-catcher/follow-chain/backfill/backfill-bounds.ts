import { Transactor } from '../../../shared/event-store/transact.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import type { ReadStore } from '../../../shared/read-store/read-store.ts';
import { stopBackfill } from '../domain/stopped-watch.ts';
import { watchFold, watchStream } from '../domain/watch.ts';
import type { Coverage, Range } from '../domain/coverage.ts';
import { followerMetadata, type AppendDependencies } from './store-changes/chain-appends.ts';
import type { WatchedEvent } from './watched-event.ts';

/** How many records and blocks the backfill of one watch may have. */
export interface BoundsOfBackfill {
  readonly records: number;
  readonly blocks: number;
}

const { count } = chainEventsModel.collections;

/** Pauses watches whose backfill has as many records or blocks as it may have. */
export class BackfillBounds {
  private readonly transactor: Transactor;
  /** Ranges by watch: of the same ranges, each watch of a reading is asked about. */
  private readonly byWatch = new WeakMap<readonly Range[], ReadonlyMap<string, readonly Range[]>>();

  constructor(
    { eventStore, clock, ids }: AppendDependencies,
    private readonly readStore: Pick<ReadStore, 'getMany'>,
    private readonly most: BoundsOfBackfill,
  ) {
    this.transactor = new Transactor(eventStore, clock, ids);
  }

  /**
   * How many blocks a range may have before its watch meets the bound; `Infinity` for what is no backfill: blocks that came since
   * the watch was registered.
   */
  blocksLeft({ isUnbounded, headBlock, startBlock }: WatchedEvent, range: Range, progress: Coverage): number {
    if (isUnbounded || headBlock === undefined || range.next > headBlock) return Infinity;
    const unread = this.rangesOf(range.watchId, progress).map(({ next, to, joins }) =>
      Math.max(0, (joins ? headBlock : Math.min(to, headBlock)) - next + 1),
    );
    const read = headBlock - startBlock + 1 - unread.reduce((sum, blocks) => sum + blocks, 0);
    return this.most.blocks - read;
  }

  private rangesOf(watchId: string, { backfills, aside }: Coverage): readonly Range[] {
    const byWatch = this.byWatch.get(backfills) ?? Map.groupBy(backfills, (range) => range.watchId);
    this.byWatch.set(backfills, byWatch);
    return [...(byWatch.get(watchId) ?? []), ...(aside.get(watchId) ?? [])];
  }

  /** How many records each of these watches may have before it meets the bound, as far as the read model knows. */
  async recordsLeft(watches: readonly WatchedEvent[]): Promise<Map<string, number>> {
    const bounded = watches.filter(({ isUnbounded }) => !isUnbounded);
    const counts = await this.readStore.getMany(
      count.name,
      bounded.flatMap(({ recordIds }) => recordIds),
    );
    const countOf = (id: string) => {
      const stored = counts.get(id);
      return stored ? count.document.parse(stored.document).canonical : 0;
    };
    return new Map(
      bounded.map(({ id, recordIds }) => [
        id,
        recordIds.reduce((left, recordId) => left - countOf(recordId), this.most.records),
      ]),
    );
  }

  /** The follower learns of it as of any other pause. */
  async stop(watchId: string, reason: 'records' | 'blocks'): Promise<void> {
    await this.transactor.transact({
      stream: watchStream(watchId),
      fold: watchFold,
      metadata: followerMetadata,
      decide: (watch) => stopBackfill(watch, reason),
    });
  }
}
