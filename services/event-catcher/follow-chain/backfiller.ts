import { setTimeout as pause } from 'node:timers/promises';
import type { BackfillRange, ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { ChainUnavailable, RangeTooLarge, type ChainReader } from '../../../shared/chain/chain-reader.ts';
import { recordsOfBlock, recordsOfRange } from './block-records.ts';
import { addSpans, type ChainLedger } from './chain-ledger.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { Watch } from './watch-list.ts';

const RETRY_FIRST_MS = 200;
const RETRY_MAX_MS = 10_000;
const BLOCKS_FIRST = 1_000;
const BLOCKS_MAX = 100_000;
/** A chunk of about so many events keeps memory small and appends large. */
const CHUNK_EVENTS = 8_000;
/** After so many chunks at a provider's limit, more is tried again. */
const CHUNKS_BEFORE_PROBING = 100;

interface Chunk {
  from: number;
  to: number;
  records: ObservedRecord[];
}

/** How many blocks to ask for at once: grows while answers are small, shrinks to what a provider takes. */
class ChunkSize {
  private size = BLOCKS_FIRST;
  private limit = BLOCKS_MAX;
  private chunksAtLimit = 0;

  get blocks(): number {
    return this.size;
  }

  refused(asked: number): void {
    this.limit = Math.max(1, Math.floor(asked / 2));
    this.size = this.limit;
    this.chunksAtLimit = 0;
  }

  answered(events: number): void {
    if (events > CHUNK_EVENTS) this.size = Math.max(1, Math.floor(this.size / 2));
    else if (events < CHUNK_EVENTS / 4) this.size = Math.min(this.size * 2, this.limit);
    this.chunksAtLimit = this.size === this.limit ? this.chunksAtLimit + 1 : 0;
    if (this.chunksAtLimit > CHUNKS_BEFORE_PROBING) {
      this.limit = Math.min(this.limit * 2, BLOCKS_MAX);
      this.chunksAtLimit = 0;
    }
  }
}

/** Reads the blocks that a watch has not covered yet, oldest first; the next chunk is asked for while one is stored. */
export class Backfiller {
  private readonly size = new ChunkSize();

  private readonly reader: ChainReader;
  private readonly ledger: ChainLedger;
  private readonly meter: ProgressMeter;

  constructor(
    { reader, ledger, meter }: { reader: ChainReader; ledger: ChainLedger; meter: ProgressMeter },
    private readonly watch: Watch,
    private readonly range: BackfillRange,
  ) {
    this.reader = reader;
    this.ledger = ledger;
    this.meter = meter;
  }

  /** Returns when the range is covered, and the watch is live if the range joins. */
  async run(signal: AbortSignal): Promise<void> {
    let ahead: Promise<Chunk | undefined> | undefined;
    while (!signal.aborted) {
      if (this.range.next > this.range.to) {
        if (await this.ledger.exclusively(() => this.finish())) return;
        continue;
      }
      const chunk = await (ahead ?? this.fetch(this.range.next, signal));
      if (!chunk) return;
      ahead = chunk.to < this.range.to ? this.fetch(chunk.to + 1, signal) : undefined;
      // Awaited in the next turn; should storing fail before, its failure is the one to hear of.
      ahead?.catch(() => undefined);
      await this.ledger.exclusively(() => this.store(chunk));
    }
  }

  /** Asks until there is an answer; a provider that fails holds up this watch alone. `undefined`: aborted. */
  private async fetch(from: number, signal: AbortSignal): Promise<Chunk | undefined> {
    let waitMs = RETRY_FIRST_MS;
    while (!signal.aborted) {
      const to = Math.min(from + this.size.blocks - 1, this.range.to);
      try {
        const records = await recordsOfRange(this.reader, this.watch, { from, to });
        this.size.answered(records.length);
        this.meter.succeeded(this.watch.id);
        return { from, to, records };
      } catch (error) {
        if (error instanceof RangeTooLarge && from < to) {
          this.size.refused(to - from + 1);
          continue;
        }
        if (!(error instanceof ChainUnavailable || error instanceof RangeTooLarge)) throw error;
        this.meter.failed(this.watch.id, error.message);
        await pause(waitMs, undefined, { signal }).catch(() => undefined);
        waitMs = Math.min(waitMs * 2, RETRY_MAX_MS);
      }
    }
    return undefined;
  }

  private async store({ from, to, records }: Chunk): Promise<void> {
    await this.ledger.observe(records);
    this.range.next = to + 1;
    this.meter.count(this.watch.id, { events: records.length, blocks: to - from + 1 });
    await this.settleUpTo(to);
    await this.ledger.checkpointNowAndThen();
  }

  /** What was unconfirmed in blocks that have been read again, and was not among their logs, is final all the same. */
  private async settleUpTo(block: number): Promise<void> {
    const journal = await this.ledger.journal(this.watch.contract);
    if (!journal.hasUnconfirmed) return;
    for (const { record } of journal.unconfirmedRecords) {
      const isOfWatch = record.EventSignature === this.watch.eventSignature;
      if (isOfWatch && record.BlockNumber >= this.range.from && record.BlockNumber <= block) journal.settle(record.Id);
    }
  }

  /** `false`: blocks became final meanwhile, which are read first. */
  private async finish(): Promise<boolean> {
    const finalized = this.ledger.window?.[0].number ?? 0;
    if (this.range.joins) {
      if (finalized > this.range.to) {
        this.range.to = finalized;
        return false;
      }
      await observeWindow(this.reader, this.ledger, this.watch, (block) => block >= this.watch.startBlock);
    }
    this.ledger.backfills = this.ledger.backfills.filter((range) => range !== this.range);
    await this.ledger.checkpoint();
    return true;
  }
}

/** Stores what a watch has in the blocks of the window that are not final; only inside `exclusively`. */
export const observeWindow = async (
  reader: ChainReader,
  ledger: ChainLedger,
  watch: Watch,
  isWanted: (block: number) => boolean,
): Promise<void> => {
  if (!ledger.window) return;
  const [first, ...rest] = ledger.window;
  const wanted = rest.filter(({ number }) => isWanted(number));
  const headers = await reader.headersByNumber(wanted.map(({ number }) => number));
  const records = await Promise.all(
    wanted.map((block, at) => {
      // A header that has changed meanwhile is a reorganisation to come: its bloom says nothing about our block.
      const header = headers[at]?.hash === block.hash ? headers[at] : { ...block, logsBloom: BLOOM_OF_EVERYTHING };
      return recordsOfBlock(reader, header, [watch], 'backfill');
    }),
  );
  const joined = [];
  for (const block of rest) {
    const at = wanted.indexOf(block);
    joined.push(at === -1 ? block : addSpans(block, await ledger.observe(records[at] ?? [])));
  }
  ledger.window = [first, ...joined];
};

const BLOOM_OF_EVERYTHING = `0x${'ff'.repeat(256)}`;
