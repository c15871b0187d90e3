import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { BlockRange } from '../../../../shared/chain/client/refusals/suggested-range.ts';
import type { Semaphore } from '../../../../shared/primitives/waiting/semaphore.ts';
import {
  blocksToFinish,
  cover,
  fallBehind,
  finish,
  isCovered,
  type ChainProgress,
  type Transition,
} from '../../domain/chain-progress.ts';
import type { ChunkSize } from '../../domain/backfill/chunk-size.ts';
import { findRange, lastBlockOf, type Range } from '../../domain/backfill/coverage.ts';
import { extensionText } from '../../domain/watches/stopped-watch.ts';
import { readIn, readWindow, recordsOfRange } from '../block-logs.ts';
import type { BackfillBounds } from './backfill-bounds.ts';
import { ChunkPrefetcher, type BlocksRead, type Chunk } from './chunk-prefetcher.ts';
import type { FollowedChain } from '../followed-chain.ts';
import type { ProgressMeter } from '../chains/progress-meter.ts';
import { isToRead } from './ranges-to-read.ts';
import type { ChainWriter, SyncSteps } from '../stored-changes/chain-writer.ts';
import { belongsTo, type WatchedEvent } from '../watches/watched-event.ts';

export interface BackfillDependencies {
  chain: FollowedChain;
  writer: ChainWriter;
  meter: ProgressMeter;
  bounds: BackfillBounds;
  /** Permits: a chunk (the blocks of one request) holds one from its request until it is stored. */
  chunks: Semaphore;
}

/**
 * Reads together the ranges of several watches that begin and end at the same blocks, oldest blocks first. Requests the
 * next chunks of blocks while a chunk is being stored.
 */
export class RangeReader {
  /** Ranges up to the head whose watch this reader paused, because it has its maximum of records or blocks. */
  readonly stopped: Range[] = [];
  /**
   * Ranges that extend a watch to earlier blocks and have reached the watch's maximum. The watch itself is not paused.
   */
  readonly bounded: Range[] = [];
  /** How many more records each watch may have, by watch id; `undefined` until it is first needed. */
  private recordsLeft: Map<string, number> | undefined;

  constructor(
    private readonly dependencies: BackfillDependencies,
    private ranges: readonly Range[],
    private readonly size: ChunkSize,
    /** Whether the turn of `ranges` is over, because other ranges wait. */
    private readonly isOver: () => boolean,
  ) {}

  /**
   * Reads and stores the ranges until all are finished, or their turn is over. A finished range that reaches up to the
   * head makes its watch live: the watch is then read at the head.
   * @throws ChainUnavailable, RangeTooLarge
   */
  async run(signal: AbortSignal): Promise<void> {
    const { writer, chunks, meter } = this.dependencies;
    const isOver = () => this.isOver() || !this.areAsTheyWere();
    const ahead = new ChunkPrefetcher({ size: this.size, chunks, isOver, read: (range) => this.read(range) }, signal);
    let next = this.ranges[0]?.next ?? 0;
    try {
      while (!signal.aborted) {
        this.ranges = await this.withinBounds(this.rangesAt(next, writer.progress));
        const [first] = this.ranges;
        if (!first) return;
        if (isCovered(writer.progress, first)) {
          await this.finish(next);
          return;
        }
        const chunk = await ahead.next({ from: next, to: this.lastFrom(next) });
        for (const { watchId } of this.ranges) meter.succeeded(watchId);
        next = chunk.to + 1;
        await writer.commit((progress) => this.store(progress, chunk));
        ahead.stored(next);
        if (!ahead.isRequested(next) && this.isOver()) return;
      }
    } finally {
      ahead.close();
    }
  }

  /**
   * Returns the current state of this reader's ranges that are to be read now and still continue at `next`: extending a
   * watch may move its range.
   */
  private rangesAt(next: number, progress: ChainProgress): Range[] {
    return this.ranges.flatMap((range) => {
      const now = findRange(progress, range);
      return now?.next === next && isToRead(now, progress, this.dependencies.chain) ? [now] : [];
    });
  }

  /** Whether any of `ranges` still continues at the block known here: a change of its watch may move a range. */
  private areAsTheyWere(): boolean {
    const { progress } = this.dependencies.writer;
    return this.ranges.some((range) => findRange(progress, range)?.next === range.next);
  }

  private watchNow({ watchId }: Range): WatchedEvent {
    const { chain, writer } = this.dependencies;
    return chain.watches.now(watchId) ?? chain.watches.get(writer.progress, watchId);
  }

  /** Returns the last block that may be read from `next` on, before a range ends or a watch reaches its maximum. */
  private lastFrom(next: number): number {
    const { writer, bounds } = this.dependencies;
    const { progress } = writer;
    const lasts = this.ranges.map((range) => {
      const left = bounds.blocksLeft(this.watchNow(range), range, progress);
      return Math.min(lastBlockOf(progress.window, range), next + left - 1);
    });
    return Math.min(...lasts);
  }

  /**
   * Leaves out ranges whose watch has its maximum of records or blocks. If such a range reaches up to the head, also
   * pauses its watch. @returns the other ranges
   */
  private async withinBounds(ranges: readonly Range[]): Promise<Range[]> {
    const { writer, bounds } = this.dependencies;
    const { progress } = writer;
    const backfilled = ranges.flatMap((range) => {
      const watch = this.watchNow(range);
      const blocks = bounds.blocksLeft(watch, range, progress);
      return blocks === Infinity ? [] : [{ range, watch, blocks }];
    });
    if (backfilled.length > 0) this.recordsLeft ??= await bounds.recordsLeft(backfilled.map(({ watch }) => watch));
    for (const { range, blocks } of backfilled) {
      const isFull = (this.recordsLeft?.get(range.watchId) ?? Infinity) <= 0;
      if (blocks > 0 && !isFull) continue;
      const reason = isFull ? 'records' : 'blocks';
      if (range.joins) {
        await bounds.stop(range.watchId, reason);
        this.stopped.push(range);
      } else {
        this.dependencies.meter.warn(range.watchId, extensionText(reason));
        this.bounded.push(range);
      }
    }
    return ranges.filter((range) => !this.stopped.includes(range) && !this.bounded.includes(range));
  }

  private watchesOf(ranges: readonly Range[], progress: ChainProgress): WatchedEvent[] {
    return ranges.map(({ watchId }) => this.dependencies.chain.watches.get(progress, watchId));
  }

  private async read(range: BlockRange): Promise<BlocksRead> {
    const { chain, writer } = this.dependencies;
    const watches = this.watchesOf(this.ranges, writer.progress);
    return { ...(await recordsOfRange(chain.reader, watches, range)), watches: watches.length };
  }

  private *store(progress: ChainProgress, { from, to, watches: asked, records }: Chunk): SyncSteps {
    const { meter } = this.dependencies;
    const ranges = this.rangesAt(from, progress);
    if (ranges.length === 0) return;
    const watches = this.watchesOf(ranges, progress);
    const isTheirs = (record: ObservedRecord) => watches.some((watch) => belongsTo(watch, record));
    // If fewer watches are left than were asked for, drops the records of watches that were stopped or moved meanwhile.
    const observed = watches.length === asked ? records : records.filter(isTheirs);
    yield {
      observed,
      isRead: (record) => record.BlockNumber >= from && record.BlockNumber <= to && isTheirs(record),
      transition: each(ranges, ({ watchId }) => cover(watchId, { from, to })),
    };
    const events = Map.groupBy(observed, ({ WatchId }) => WatchId);
    for (const { id } of watches) {
      const read = events.get(id)?.length ?? 0;
      meter.count(id, { events: read, blocks: to - from + 1 });
      this.recordsLeft?.set(id, (this.recordsLeft.get(id) ?? Infinity) - read);
    }
  }

  /**
   * Finishes ranges that have been read up to the window of blocks that may be reorganised. Reads the records of these
   * blocks before the commit, so that a provider that hangs delays no other commit.
   */
  private async finish(next: number): Promise<void> {
    const { chain, writer } = this.dependencies;
    const read = new Map<string, ObservedRecord[]>();
    const coveredIn = (progress: ChainProgress) =>
      this.rangesAt(next, progress).filter((range) => isCovered(progress, range));
    const finishRead = function* (this: RangeReader, progress: ChainProgress): SyncSteps<boolean> {
      const ranges = coveredIn(progress);
      const [first] = ranges;
      if (!first) return true;
      const blocks = blocksToFinish(progress, first);
      if (blocks.some(({ hash }) => !read.has(hash))) return false;
      yield {
        ...readIn(blocks, this.watchesOf(ranges, progress), read),
        transition: each(ranges, (range) => {
          const watch = chain.watches.get(progress, range.watchId);
          const isStopped = range.joins && (chain.watches.now(watch.id)?.isStopped ?? false);
          return (now) => (isStopped ? fallBehind([watch]) : asItIs)(finish(range)(now));
        }),
      };
      return true;
    };
    do {
      const { progress } = writer;
      const [first] = coveredIn(progress);
      const blocks = first ? blocksToFinish(progress, first) : [];
      const missing = blocks.filter(({ hash }) => !read.has(hash));
      const watches = this.watchesOf(this.ranges, progress);
      for (const [hash, records] of await readWindow(chain.reader, missing, watches)) read.set(hash, records);
    } while (!(await writer.commit((progress) => finishRead.call(this, progress))));
  }
}

const asItIs: Transition = (progress) => progress;

const each =
  (ranges: readonly Range[], transitionOf: (range: Range) => Transition): Transition =>
  (progress) =>
    ranges.reduce((now, range) => transitionOf(range)(now), progress);
