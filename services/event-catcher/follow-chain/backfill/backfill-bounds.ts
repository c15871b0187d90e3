import { Transactor } from '../../../../shared/event-store/transactions/transact.ts';
import { chainEventsModel } from '../../../../shared/read-models/event-catcher/chain-events.ts';
import type { ReadStore } from '../../../../shared/read-store/read-store.ts';
import { stopBackfill } from '../../domain/watches/stopped-watch.ts';
import { watchFold, watchStream } from '../../domain/watches/watch.ts';
import type { Coverage, Range } from '../../domain/backfill/coverage.ts';
import { followerMetadata, type AppendDependencies } from '../stored-changes/chain-appends.ts';
import type { WatchedEvent } from '../watches/watched-event.ts';

/** The most records (decoded logs) and blocks that the backfill of one watch may have. */
export interface BoundsOfBackfill {
  readonly records: number;
  readonly blocks: number;
}

const { count } = chainEventsModel.collections;

/** Tells how much watches may still backfill, and pauses watches that have the maximum of records or blocks. */
export class BackfillBounds {
  private readonly transactor: Transactor;
  /** Unread ranges grouped by watch id. Kept because all watches that are read together look up the same ranges. */
  private readonly byWatch = new WeakMap<readonly Range[], ReadonlyMap<string, readonly Range[]>>();

  constructor(
    { eventStore, clock, ids }: AppendDependencies,
    private readonly readStore: Pick<ReadStore, 'getMany'>,
    private readonly most: BoundsOfBackfill,
  ) {
    this.transactor = new Transactor(eventStore, clock, ids);
  }

  /**
   * Returns how many more blocks of a range may be read before the backfill of its watch reaches the maximum.
   * `Infinity` for a watch without a maximum, and for blocks after `headBlock`, the head at registration: they are not
   * part of the backfill.
   */
  blocksLeft({ isUnbounded, headBlock, startBlock }: WatchedEvent, range: Range, progress: Coverage): number {
    if (isUnbounded || headBlock === undefined || range.next > headBlock) return Infinity;
    const unread = this.rangesOf(range.watchId, progress).map(({ next, to, joins }) =>
      Math.max(0, (joins ? headBlock : Math.min(to, headBlock)) - next + 1),
    );
    const read = headBlock - startBlock + 1 - unread.reduce((sum, blocks) => sum + blocks, 0);
    return this.most.blocks - read;
  }

  private rangesOf(watchId: string, { backfills, deferred }: Coverage): readonly Range[] {
    const byWatch = this.byWatch.get(backfills) ?? Map.groupBy(backfills, (range) => range.watchId);
    this.byWatch.set(backfills, byWatch);
    return [...(byWatch.get(watchId) ?? []), ...(deferred.get(watchId) ?? [])];
  }

  /**
   * Returns, by watch id, how many more records each watch may have, by the read model's count. Leaves out watches
   * without a maximum.
   */
  async recordsLeft(watches: readonly WatchedEvent[]): Promise<Map<string, number>> {
    const bounded = watches.filter(({ isUnbounded }) => !isUnbounded);
    const counts = await this.readStore.getMany(
      count.name,
      bounded.map(({ id }) => id),
    );
    const countOf = (id: string) => {
      const stored = counts.get(id);
      return stored ? count.document.parse(stored.document).canonical : 0;
    };
    return new Map(bounded.map(({ id }) => [id, this.most.records - countOf(id)]));
  }

  /**
   * Stores an event that pauses a watch, because its backfill has the maximum of records or blocks. The follower learns
   * of the pause by reading this event, as of any other pause.
   */
  async stop(watchId: string, reason: 'records' | 'blocks'): Promise<void> {
    await this.transactor.transact({
      stream: watchStream(watchId),
      fold: watchFold,
      metadata: followerMetadata,
      decide: (watch) => stopBackfill(watch, reason),
    });
  }
}
