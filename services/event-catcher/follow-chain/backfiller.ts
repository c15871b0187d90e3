import type { BackfillRange, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { ChainUnavailable, RangeTooLarge, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { Backoff } from '../../../shared/primitives/backoff.ts';
import { recordsOfRange } from './block-records.ts';
import type { ChainLedger } from './chain-ledger.ts';
import { ChunkSize } from './chunk-size.ts';
import { observeWindow } from './observe-window.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { Semaphore } from './semaphore.ts';
import { isOf, type Watch } from './watched-event.ts';

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 10_000;

interface Chunk {
  from: number;
  to: number;
  records: ObservedRecord[];
}

interface Dependencies {
  reader: ChainReader;
  ledger: ChainLedger;
  meter: ProgressMeter;
  /** A chunk has its place from when it is asked for until it is stored; waiting for a provider to recover takes none. */
  chunks: Semaphore;
}

/** Reads the blocks that a watch has not covered yet, oldest first; the next chunk is asked for while one is stored. */
export class Backfiller {
  private readonly size = new ChunkSize();

  constructor(
    private readonly dependencies: Dependencies,
    private readonly watch: Watch,
    private readonly range: BackfillRange,
  ) {}

  /** Returns when the range is covered, and the watch is live if the range joins. */
  async run(signal: AbortSignal): Promise<void> {
    const { ledger, chunks } = this.dependencies;
    let ahead: Promise<Chunk> | undefined;
    while (!signal.aborted) {
      if (!ahead && this.range.next > this.range.to) {
        if (await ledger.exclusively(() => this.finish())) return;
        continue;
      }
      const chunk = await (ahead ?? this.fetch(this.range.next, signal));
      // One that the watch's extension left behind is not stored, and leads nowhere.
      const isNext = chunk.from === this.range.next;
      ahead = isNext && chunk.to < this.range.to ? this.fetch(chunk.to + 1, signal) : undefined;
      // Awaited in the next turn; should storing fail before, its failure is the one to hear of.
      ahead?.catch(() => undefined);
      await ledger.exclusively(() => this.store(chunk));
      chunks.release();
    }
  }

  /** Asks until there is an answer; a provider that fails holds up this watch alone. */
  private async fetch(from: number, signal: AbortSignal): Promise<Chunk> {
    const { reader, meter, chunks } = this.dependencies;
    const backoff = new Backoff(RETRY_FIRST_MS, RETRY_MAX_MS);
    for (;;) {
      await chunks.acquire(signal);
      const to = Math.min(from + this.size.blocks - 1, this.range.to);
      try {
        const records = await recordsOfRange(reader, this.watch, { from, to });
        this.size.answered({ blocks: to - from + 1, events: records.length });
        meter.succeeded(this.watch.id);
        return { from, to, records };
      } catch (error) {
        chunks.release();
        if (error instanceof RangeTooLarge && from < to) {
          this.size.refused(to - from + 1);
          continue;
        }
        if (!(error instanceof ChainUnavailable || error instanceof RangeTooLarge)) throw error;
        meter.failed(this.watch.id, error.message);
        await backoff.pause(signal);
        signal.throwIfAborted();
      }
    }
  }

  private async store({ from, to, records }: Chunk): Promise<void> {
    // The watch was extended before anything of it was stored: its range begins earlier now.
    if (from !== this.range.next) return;
    const { ledger, meter } = this.dependencies;
    await ledger.observe(records);
    this.range.next = to + 1;
    meter.count(this.watch.id, { events: records.length, blocks: to - from + 1 });
    // Stored before, and not among the logs now: these blocks are final, and will not be read again.
    ledger.settle(
      (record) => isOf(this.watch, record) && record.BlockNumber >= this.range.from && record.BlockNumber <= to,
    );
    await ledger.checkpointNowAndThen();
  }

  /** `false`: there are blocks that are read first, which became final meanwhile or belong to an extension. */
  private async finish(): Promise<boolean> {
    const { reader, ledger } = this.dependencies;
    if (this.range.joins) this.range.to = Math.max(this.range.to, ledger.finalized);
    if (this.range.next <= this.range.to) return false;
    if (this.range.joins) {
      await observeWindow(reader, ledger, this.watch, (block) => block >= this.watch.startBlock);
    }
    ledger.backfills = ledger.backfills.filter((range) => range !== this.range);
    await ledger.checkpoint();
    return true;
  }
}
