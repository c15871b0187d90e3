import { LearnedLimit } from '../../../shared/primitives/learned-limit.ts';

const BLOCKS_FIRST = 50;
const BLOCKS_MAX = 100_000;
/** A chunk of about this many events keeps memory small and appends large. */
const CHUNK_EVENTS = 8_000;
const GROWTH_MAX = 10;
/** How near a chunk comes to the number of logs that a provider returns at most. */
const OF_LOGS_MAX = 0.8;
/** Blocks with fewer events than that were not refused for how many logs they have: they were too many, or took too long. */
const MANY_EVENTS = 20;

/** What RangeTooLarge says. */
interface Suggested {
  blocks?: number;
  of?: 'blocks' | 'logs';
  logsMax?: number | undefined;
}

/** Blocks that were refused for what is in them. */
interface RefusedBlocks {
  /** How many were refused together, at least. */
  readonly blocks: number;
  /** How many are read at once. */
  readonly atOnce: number;
  /** What was read of them since. */
  read: { blocks: number; events: number };
}

/**
 * Decides how many blocks to request at once: as many as hold a chunk of events, and no more than the provider accepts.
 */
export class ChunkSize {
  private size = BLOCKS_FIRST;
  private readonly events = new LearnedLimit(CHUNK_EVENTS);
  private readonly limit = new LearnedLimit(BLOCKS_MAX);
  private tooFull: RefusedBlocks | undefined;

  get blocks(): number {
    return this.size;
  }

  /** @param suggested what the provider would accept, and how many logs it returns at most */
  refused(asked: number, { blocks = asked, of = 'blocks', logsMax }: Suggested = {}): void {
    const next = Math.min(blocks, asked);
    if (logsMax !== undefined) this.events.refused(Infinity, Math.ceil(logsMax * OF_LOGS_MAX), true);
    const isKnown = next < asked;
    // How many logs there are is seen in the next answers. What is too slow or too many blocks for a provider is not.
    if (isKnown && logsMax === undefined && of === 'logs') this.narrow(asked, next);
    if (!isKnown || (logsMax === undefined && of === 'blocks')) this.limit.refused(asked, next);
    this.size = Math.max(1, Math.min(this.size, next, this.limit.value));
  }

  answered({ blocks, events }: { blocks: number; events: number }): void {
    this.limit.answered(blocks);
    this.events.answered(events);
    this.readOfRefused(blocks, events);
    const fitting = Math.floor((blocks * this.events.value) / Math.max(events, 1));
    const grown = Math.max(this.size, blocks * GROWTH_MAX);
    this.size = Math.max(1, Math.min(fitting, grown, this.limit.value, this.tooFull?.atOnce ?? Infinity));
  }

  /** As many as a provider suggests have about as many logs as it returns: twice as many have too many. */
  private narrow(asked: number, atOnce: number): void {
    this.tooFull = { blocks: Math.min(asked, 2 * atOnce), atOnce, read: { blocks: 0, events: 0 } };
  }

  /** When the blocks that were refused have been read, it is seen what was too much. */
  private readOfRefused(blocks: number, events: number): void {
    // An answer of as many blocks is one of others, which were asked for at the same time.
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
