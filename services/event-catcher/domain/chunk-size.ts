import { LearnedLimit } from '../../../shared/primitives/learned-limit.ts';

const BLOCKS_FIRST = 50;
const BLOCKS_MAX = 100_000;
/** A chunk of about this many events keeps memory small and appends large. */
const CHUNK_EVENTS = 8_000;
const GROWTH_MAX = 10;
/** How near a chunk comes to the number of logs that a provider returns at most. */
const OF_LOGS_MAX = 0.8;

/**
 * Decides how many blocks to request at once: as many as hold a chunk of events, and no more than the provider accepts.
 */
export class ChunkSize {
  private size = BLOCKS_FIRST;
  private eventsAtOnce = CHUNK_EVENTS;
  private readonly limit = new LearnedLimit(BLOCKS_MAX);

  get blocks(): number {
    return this.size;
  }

  /** @param suggested what the provider would accept, and how many logs it returns at most: as RangeTooLarge says */
  refused(asked: number, suggested: { blocks?: number; logsMax?: number | undefined } = {}): void {
    const { logsMax } = suggested;
    const blocks = Math.min(suggested.blocks ?? asked, asked);
    if (logsMax !== undefined) this.eventsAtOnce = Math.min(this.eventsAtOnce, Math.ceil(logsMax * OF_LOGS_MAX));
    // How many logs there are is seen in the next answer. What is too slow or too many blocks for a provider is not.
    if (logsMax === undefined || blocks === asked) this.limit.refused(asked, blocks);
    this.size = Math.max(1, Math.min(this.size, blocks, this.limit.value));
  }

  answered({ blocks, events }: { blocks: number; events: number }): void {
    const fitting = Math.floor((blocks * this.eventsAtOnce) / Math.max(events, 1));
    this.limit.answered(blocks);
    this.size = Math.max(1, Math.min(fitting, blocks * GROWTH_MAX, this.limit.value));
  }
}
