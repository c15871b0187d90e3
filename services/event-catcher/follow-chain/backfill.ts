import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { ChainUnavailable, RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import { Backoff } from '../../../shared/primitives/backoff.ts';
import { blocksToJoin, cover, isCovered, join, type ChainProgress } from '../domain/chain-progress.ts';
import { ChunkSize } from '../domain/chunk-size.ts';
import { lastBlockOf, findRange, type Range } from '../domain/coverage.ts';
import { readWindow, recordsOfRange } from './block-logs.ts';
import type { FollowedChain } from './followed-chain.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { Semaphore } from '../../../shared/primitives/semaphore.ts';
import type { ChainWriter, Steps, SyncSteps } from './store-changes/chain-writer.ts';
import { belongsTo } from './watched-event.ts';

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 10_000;

interface Chunk {
  from: number;
  to: number;
  records: ObservedRecord[];
}

export interface BackfillDependencies {
  chain: FollowedChain;
  writer: ChainWriter;
  meter: ProgressMeter;
  /** A chunk holds a permit from its request until it is stored. While a provider recovers, the backfill holds none. */
  chunks: Semaphore;
}

/** Reads one range, oldest blocks first. The next chunk is requested while one is being stored. */
export class Backfill {
  private readonly size = new ChunkSize();

  constructor(
    private readonly dependencies: BackfillDependencies,
    private readonly initialRange: Range,
  ) {}

  /** Returns when the range has been read and, if it joins, the watch is live. */
  async run(signal: AbortSignal): Promise<void> {
    const { writer, chunks } = this.dependencies;
    let ahead: Promise<Chunk> | undefined;
    while (!signal.aborted) {
      const range = findRange(writer.progress, this.initialRange);
      if (!range) return;
      if (!ahead && isCovered(writer.progress, range)) {
        await writer.commit((progress) => this.join(progress));
        continue;
      }
      const chunk = await (ahead ?? this.fetch(range.next, signal));
      ahead = this.isFollowed(chunk) ? this.fetch(chunk.to + 1, signal) : undefined;
      // It is awaited in the next round. If storing fails before that, this keeps its failure from being unhandled.
      ahead?.catch(() => undefined);
      await writer.commit((progress) => this.store(progress, chunk));
      chunks.release();
    }
  }

  /**
   * Whether the range has blocks after a chunk. It has none after a chunk that an extension of the watch made obsolete.
   */
  private isFollowed({ from, to }: Chunk): boolean {
    const { progress } = this.dependencies.writer;
    const range = findRange(progress, this.initialRange);
    return range?.next === from && to < lastBlockOf(progress.window, range);
  }

  /** Requests a chunk until there is an answer. A provider that fails delays this watch only. */
  private async fetch(from: number, signal: AbortSignal): Promise<Chunk> {
    const { chain, writer, meter, chunks } = this.dependencies;
    const watch = chain.watches.of(writer.progress, this.initialRange.watchId);
    const backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
    for (;;) {
      await chunks.acquire(signal);
      const end = lastBlockOf(writer.progress.window, this.initialRange);
      const to = Math.min(from + this.size.blocks - 1, end);
      try {
        const records = await recordsOfRange(chain.reader, watch, { from, to });
        this.size.answered({ blocks: to - from + 1, events: records.length });
        meter.succeeded(watch.id);
        return { from, to, records };
      } catch (error) {
        chunks.release();
        if (error instanceof RangeTooLarge && from < to) {
          this.size.refused(to - from + 1);
          continue;
        }
        if (!(error instanceof ChainUnavailable || error instanceof RangeTooLarge)) throw error;
        meter.failed(watch.id, error.message);
        await backoff.pause(signal);
        signal.throwIfAborted();
      }
    }
  }

  private *store(progress: ChainProgress, { from, to, records }: Chunk): SyncSteps {
    const { chain, meter } = this.dependencies;
    const range = findRange(progress, this.initialRange);
    // Otherwise the watch was extended before anything of it was stored, and its range begins earlier now.
    if (range?.next !== from) return;
    const watch = chain.watches.of(progress, range.watchId);
    yield {
      observed: records,
      isRead: (record) => belongsTo(watch, record) && record.BlockNumber >= range.from && record.BlockNumber <= to,
      transition: cover(watch.id, { from, to }),
    };
    meter.count(watch.id, { events: records.length, blocks: to - from + 1 });
  }

  /** Joins, unless other blocks must be read first: those that became final meanwhile, or those of an extension. */
  private async *join(progress: ChainProgress): Steps {
    const { reader, watches } = this.dependencies.chain;
    if (!isCovered(progress, findRange(progress, this.initialRange) ?? this.initialRange)) return;
    const watch = watches.of(progress, this.initialRange.watchId);
    yield { ...(await readWindow(reader, blocksToJoin(progress, watch), watch)), transition: join(watch.id) };
  }
}
