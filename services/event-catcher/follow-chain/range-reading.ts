import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import type { Semaphore } from '../../../shared/primitives/semaphore.ts';
import { cover, fallBehind, isCovered, join, type ChainProgress, type Transition } from '../domain/chain-progress.ts';
import type { ChunkSize } from '../domain/chunk-size.ts';
import { findRange, lastBlockOf, type Range } from '../domain/coverage.ts';
import { readIn, readWindow, recordsOfRange } from './block-logs.ts';
import type { BackfillBounds } from './backfill-bounds.ts';
import type { FollowedChain } from './followed-chain.ts';
import type { ProgressMeter } from './progress-meter.ts';
import { isToRead } from './ranges-to-read.ts';
import type { ChainWriter, SyncSteps } from './store-changes/chain-writer.ts';
import { belongsTo, type WatchedEvent } from './watched-event.ts';

interface Chunk {
  from: number;
  to: number;
  /** Of so many watches. */
  watches: number;
  records: ObservedRecord[];
}

export interface BackfillDependencies {
  chain: FollowedChain;
  writer: ChainWriter;
  meter: ProgressMeter;
  bounds: BackfillBounds;
  /** A chunk holds a permit from its request until it is stored. */
  chunks: Semaphore;
}

/**
 * Reads ranges that begin at the same block and end at the same one together, oldest blocks first. The next chunk is requested
 * while one is being stored.
 */
export class RangeReading {
  /** Those whose watch was paused here, because it met a bound. */
  readonly stopped: Range[] = [];
  /** How many records a watch may have yet. */
  private recordsLeft: Map<string, number> | undefined;

  constructor(
    private readonly dependencies: BackfillDependencies,
    private ranges: readonly Range[],
    private readonly size: ChunkSize,
    /** Whether others are to have their turn now. */
    private readonly isOver: () => boolean,
  ) {}

  /**
   * Returns when the ranges have been read and, if they join, their watches are live; or when the turn is over.
   * @throws ChainUnavailable, RangeTooLarge
   */
  async run(signal: AbortSignal): Promise<void> {
    const { writer, chunks } = this.dependencies;
    let next = this.ranges[0]?.next ?? 0;
    let ahead: Promise<Chunk> | undefined;
    try {
      while (!signal.aborted) {
        this.ranges = await this.withinBounds(this.rangesAt(next, writer.progress));
        const [first] = this.ranges;
        if (!first) return;
        if (isCovered(writer.progress, first)) {
          await this.join(next);
          return;
        }
        const chunk = await (ahead ?? this.fetch(next, signal));
        ahead = undefined;
        next = chunk.to + 1;
        if (!this.isOver() && this.hasBlocksAfter(chunk) && this.blocksLeft(next) > 0) {
          ahead = this.fetch(next, signal);
          // It is awaited in the next round. If storing fails before that, this keeps its failure from being unhandled.
          ahead.catch(() => undefined);
        }
        await writer.commit((progress) => this.store(progress, chunk));
        chunks.release();
        if (!ahead && this.isOver()) return;
      }
    } finally {
      // What was requested and is not stored gives its permit back.
      ahead?.then(
        () => {
          chunks.release();
        },
        () => undefined,
      );
    }
  }

  /**
   * These ranges as they are now, but for those whose watch was extended, so that they begin elsewhere by now, or stopped.
   */
  private rangesAt(next: number, progress: ChainProgress): Range[] {
    return this.ranges.flatMap((range) => {
      const now = findRange(progress, range);
      return now?.next === next && isToRead(now, progress, this.dependencies.chain) ? [now] : [];
    });
  }

  private watchNow({ watchId }: Range): WatchedEvent {
    const { chain, writer } = this.dependencies;
    return chain.watches.now(watchId) ?? chain.watches.of(writer.progress, watchId);
  }

  /** How many blocks, from this one on, may be read before the first of the watches meets its bound. */
  private blocksLeft(from: number): number {
    const { writer, bounds } = this.dependencies;
    const { progress } = writer;
    return this.ranges.reduce((least, range) => {
      const watch = this.watchNow(range);
      const left = bounds.blocksLeft(watch, range, progress.backfills);
      return Math.min(least, left - (from - range.next));
    }, Infinity);
  }

  /** Pauses the watches whose backfill met a bound, and returns the ranges of the others. */
  private async withinBounds(ranges: readonly Range[]): Promise<Range[]> {
    const { writer, bounds } = this.dependencies;
    const { backfills } = writer.progress;
    const backfilled = ranges.flatMap((range) => {
      const watch = this.watchNow(range);
      const blocks = bounds.blocksLeft(watch, range, backfills);
      return blocks === Infinity ? [] : [{ range, watch, blocks }];
    });
    if (backfilled.length > 0) this.recordsLeft ??= await bounds.recordsLeft(backfilled.map(({ watch }) => watch));
    for (const { range, blocks } of backfilled) {
      const isFull = (this.recordsLeft?.get(range.watchId) ?? Infinity) <= 0;
      if (blocks > 0 && !isFull) continue;
      await bounds.stop(range.watchId, isFull ? 'records' : 'blocks');
      this.stopped.push(range);
    }
    return ranges.filter((range) => !this.stopped.includes(range));
  }

  private hasBlocksAfter({ from, to }: Chunk): boolean {
    const { progress } = this.dependencies.writer;
    return this.rangesAt(from, progress).some((range) => to < lastBlockOf(progress.window, range));
  }

  private watchesOf(ranges: readonly Range[], progress: ChainProgress): WatchedEvent[] {
    return ranges.map(({ watchId }) => this.dependencies.chain.watches.of(progress, watchId));
  }

  private async fetch(from: number, signal: AbortSignal): Promise<Chunk> {
    const { chain, writer, meter, chunks } = this.dependencies;
    const { ranges, size } = this;
    const watches = this.watchesOf(ranges, writer.progress);
    await chunks.acquire(signal);
    try {
      for (;;) {
        const last = Math.min(...ranges.map((range) => lastBlockOf(writer.progress.window, range)));
        const end = Math.min(last, from + this.blocksLeft(from) - 1);
        const to = Math.max(from, Math.min(from + size.blocks - 1, end));
        try {
          const records = await recordsOfRange(chain.reader, watches, { from, to });
          size.answered({ blocks: to - from + 1, events: records.length });
          for (const { id } of watches) meter.succeeded(id);
          return { from, to, watches: watches.length, records };
        } catch (error) {
          if (!(error instanceof RangeTooLarge) || from === to) throw error;
          size.refused(to - from + 1, error.suggested);
        }
      }
    } catch (error) {
      chunks.release();
      throw error;
    }
  }

  private *store(progress: ChainProgress, { from, to, watches: asked, records }: Chunk): SyncSteps {
    const { meter } = this.dependencies;
    const ranges = this.rangesAt(from, progress);
    if (ranges.length === 0) return;
    const watches = this.watchesOf(ranges, progress);
    const isTheirs = (record: ObservedRecord) => watches.some((watch) => belongsTo(watch, record));
    // Otherwise some left while the chunk was requested.
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

  /** Reads the blocks that may be reorganised before it joins, so that a provider that hangs delays nobody else. */
  private async join(next: number): Promise<void> {
    const { chain, writer } = this.dependencies;
    const read = new Map<string, ObservedRecord[]>();
    const blocksOf = ({ window }: ChainProgress) => window.slice(1).filter(({ number }) => number >= next);
    const joinRead = function* (this: RangeReading, progress: ChainProgress): SyncSteps<boolean> {
      const ranges = this.rangesAt(next, progress).filter((range) => range.joins && isCovered(progress, range));
      if (ranges.length === 0) return true;
      const blocks = blocksOf(progress);
      if (blocks.some(({ hash }) => !read.has(hash))) return false;
      yield {
        ...readIn(blocks, this.watchesOf(ranges, progress), read),
        transition: each(ranges, ({ watchId }) => {
          const watch = chain.watches.of(progress, watchId);
          const isStopped = chain.watches.now(watchId)?.isStopped ?? false;
          return (now) => (isStopped ? fallBehind([watch]) : asItIs)(join(watchId)(now));
        }),
      };
      return true;
    };
    do {
      const { progress } = writer;
      const missing = blocksOf(progress).filter(({ hash }) => !read.has(hash));
      const watches = this.watchesOf(this.ranges, progress);
      for (const [hash, records] of await readWindow(chain.reader, missing, watches)) read.set(hash, records);
    } while (!(await writer.commit((progress) => joinRead.call(this, progress))));
  }
}

const asItIs: Transition = (progress) => progress;

const each =
  (ranges: readonly Range[], transitionOf: (range: Range) => Transition): Transition =>
  (progress) =>
    ranges.reduce((now, range) => transitionOf(range)(now), progress);
