const BLOCKS_FIRST = 50;
const BLOCKS_MAX = 100_000;
/** A chunk of about this many events keeps memory small and appends large. */
const CHUNK_EVENTS = 8_000;
const GROWTH_MAX = 10;
/** After this many chunks at a provider's limit, a larger chunk is tried again. */
const CHUNKS_BEFORE_PROBING = 100;

/**
 * Decides how many blocks to request at once: as many as hold a chunk of events, and no more than the provider accepts.
 */
export class ChunkSize {
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

  answered({ blocks, events }: { blocks: number; events: number }): void {
    const fitting = Math.floor((blocks * CHUNK_EVENTS) / Math.max(events, 1));
    this.chunksAtLimit = blocks === this.limit ? this.chunksAtLimit + 1 : 0;
    if (this.chunksAtLimit > CHUNKS_BEFORE_PROBING) {
      this.limit = Math.min(this.limit * 2, BLOCKS_MAX);
      this.chunksAtLimit = 0;
    }
    this.size = Math.max(1, Math.min(fitting, blocks * GROWTH_MAX, this.limit));
  }
}
