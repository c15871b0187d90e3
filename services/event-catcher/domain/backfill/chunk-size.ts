import { LearnedLimit } from '../../../../shared/primitives/learned-limit.ts';

const BLOCKS_FIRST = 50;
const BLOCKS_MAX = 100_000;
/** A chunk of about this many events keeps memory small and appends large. */
const CHUNK_EVENTS = 8_000;
const GROWTH_MAX = 10;
/** The share of a provider's maximum of logs that a chunk aims at. */
const OF_LOGS_MAX = 0.8;
/**
 * A refused range with fewer events than this was not refused for its logs: it had too many blocks, or took too long.
 */
const MANY_EVENTS = 20;

/** What `RangeTooLarge` suggests. */
interface Suggested {
  blocks?: number;
  of?: 'blocks' | 'logs';
  logsMax?: number | undefined;
}

/** A range that was refused for its logs, not for its number of blocks. */
interface RefusedBlocks {
  /** Number of blocks that were refused in one request, at least. */
  readonly blocks: number;
  /** Number of blocks per request until all of them have been read. */
  readonly atOnce: number;
  /** What has been read of the refused range since. */
  read: { blocks: number; events: number };
}

/** Decides how many blocks to request at once: enough for a chunk of events, and no more than the provider accepts. */
export class ChunkSize {
  private size = BLOCKS_FIRST;
  private readonly events = new LearnedLimit(CHUNK_EVENTS);
  private readonly limit = new LearnedLimit(BLOCKS_MAX);
  private tooFull: RefusedBlocks | undefined;

  get blocks(): number {
    return this.size;
  }

  /**
   * @param asked how many blocks were requested
   * @param suggested what the provider would accept, and the most logs it returns
   */
  refused(asked: number, { blocks = asked, of = 'blocks', logsMax }: Suggested = {}): void {
    const next = Math.min(blocks, asked);
    if (logsMax !== undefined) this.events.refused(Infinity, Math.ceil(logsMax * OF_LOGS_MAX), true);
    const isKnown = next < asked;
    // The next answers show how many logs there are. They do not show what is too slow, or too many blocks, for a
    // provider.
    if (isKnown && logsMax === undefined && of === 'logs') {
      // So many blocks have about as many logs as the provider returns, and twice as many blocks have too many.
      this.tooFull = { blocks: Math.min(asked, 2 * next), atOnce: next, read: { blocks: 0, events: 0 } };
    }
    if (!isKnown || (logsMax === undefined && of === 'blocks')) this.limit.refused(asked, next);
    this.size = Math.max(1, Math.min(this.size, next, this.limit.value));
  }

  answered({ blocks, events }: { blocks: number; events: number }): void {
    this.limit.answered(blocks);
    this.events.answered(events);
    this.readOfRefused(blocks, events);
    const fitting = events === 0 ? Infinity : Math.floor((blocks * this.events.value) / events);
    const grown = Math.max(this.size, blocks * GROWTH_MAX);
    this.size = Math.max(1, Math.min(fitting, grown, this.limit.value, this.tooFull?.atOnce ?? Infinity));
  }

  /**
   * Once the refused range has been read in smaller parts, their events tell whether it had too many logs or too many
   * blocks.
   */
  private readOfRefused(blocks: number, events: number): void {
    // An answer this large belongs to another request that was sent at the same time.
    if (!this.tooFull || blocks >= this.tooFull.blocks) return;
    const { read } = this.tooFull;
    read.blocks += blocks;
    read.events += events;
    if (read.blocks < this.tooFull.blocks) return;
    if (read.events >= MANY_EVENTS) this.events.refused(read.events);
    else this.limit.refused(this.tooFull.blocks, this.tooFull.atOnce);
    this.tooFull = undefined;
  }
}
