import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { BlocksRefused, RangeTooLarge } from '../../../../shared/chain/chain-reader.ts';
import { blocksOf, type BlockRange } from '../../../../shared/chain/client/refusals/suggested-range.ts';
import type { Semaphore } from '../../../../shared/primitives/waiting/semaphore.ts';
import type { ChunkSize } from '../../domain/backfill/chunk-size.ts';

/**
 * Maximum number of chunks of one prefetcher at a time. A chunk is the blocks of one request, and counts from its request
 * until it is stored. While one is stored, the next ones are on their way.
 */
const CHUNKS_MAX = 4;
/**
 * If a prefetcher's chunks are expected to need more memory than this together, it holds only two of them: it requests one
 * while the other is stored. Storing chunks of that size takes longer than requesting them.
 */
const BYTES_MAX = 8 * 1_024 * 1_024;
/**
 * A request for more than this many times the blocks of the largest answered request may be refused as too large. Only
 * one such request is sent at a time.
 */
const LARGER_MAX = 1.25;
/** How many of the chain's permits for chunks a prefetcher leaves free, so that one without any chunk gets its first. */
const SPARED = 1;

/** The records that were read in some blocks. */
export interface BlocksRead {
  records: ObservedRecord[];
  /** For how many watches the logs were requested. */
  watches: number;
  /** Approximate size of the records in memory. */
  bytes: number;
}

export type Chunk = BlockRange & BlocksRead;

interface Request extends BlockRange {
  read: Promise<BlocksRead>;
  /** Approximate size of the answer in memory; `undefined` until the request is answered. */
  bytes: number | undefined;
  hasFailed: boolean;
}

interface Dependencies {
  size: ChunkSize;
  /** Permits, shared with other prefetchers of the chain. A chunk holds one from its request until it is stored. */
  chunks: Semaphore;
  read: (range: BlockRange) => Promise<BlocksRead>;
  /** Whether the turn of this range of blocks is over: if so, no more blocks are requested ahead. */
  isOver: () => boolean;
}

/**
 * Reads a range of blocks in chunks: fetches several chunks at a time, and returns them in block order.
 *
 * A prefetcher that holds any permit holds one for its next blocks. Otherwise prefetchers could wait for each other's
 * permits for ever.
 */
export class ChunkPrefetcher {
  /** In block order. Blocks between two requests are left over from a refused request, which was made smaller. */
  private readonly requests: Request[] = [];
  /** Whether it holds a permit beside those of `requests`: for the chunk being stored, or the next request. */
  private hasPermit = false;
  private bytesBeingStored = 0;
  private bytesPerBlock: number | undefined;
  /**
   * The number of blocks of the largest answered request. Becomes smaller if a request no larger than that is refused.
   */
  private blocksAnswered = 0;
  /** The blocks that the caller wants: only these are requested ahead. */
  private wanted: BlockRange | undefined;
  private isClosed = false;

  constructor(
    private readonly dependencies: Dependencies,
    private readonly signal: AbortSignal,
  ) {}

  isRequested(block: number): boolean {
    return this.requests[0]?.from === block;
  }

  /**
   * Returns the chunk that begins at block `from` and ends at `to` or before. Meanwhile requests more chunks, up to
   * `to`.
   * @throws ChainUnavailable, RangeTooLarge
   */
  async next({ from, to }: BlockRange): Promise<Chunk> {
    if (!this.isRequested(from)) {
      if (!this.hasPermit) await this.dependencies.chunks.acquire(this.signal);
      this.hasPermit = false;
      this.request({ from, to: Math.min(to, (this.requests[0]?.from ?? Infinity) - 1) });
    }
    this.want({ from, to });
    const [first] = this.requests;
    if (!first) throw new Error('the next blocks are requested');
    const read = await first.read;
    this.requests.shift();
    this.hasPermit = true;
    this.bytesBeingStored = read.bytes;
    const chunk = upTo(to, { from, to: first.to, ...read });
    this.want({ from: chunk.to + 1, to });
    return chunk;
  }

  /** Notes that the last returned chunk is stored. @param next the block after that chunk */
  stored(next: number): void {
    this.bytesBeingStored = 0;
    if (this.requests.length === 0 || this.isRequested(next)) this.release();
  }

  /** Releases all permits; the permit of a pending request only once that request is answered or has failed. */
  close(): void {
    this.isClosed = true;
    if (this.hasPermit) this.release();
    const { chunks } = this.dependencies;
    const release = () => {
      chunks.release();
    };
    for (const { read } of this.requests) read.then(release, release);
  }

  private release(): void {
    this.hasPermit = false;
    this.dependencies.chunks.release();
  }

  private want(blocks: BlockRange): void {
    this.wanted = blocks;
    this.requestAhead();
  }

  /** Sends requests for the wanted blocks that are missing, as long as there is room for their chunks. */
  private requestAhead(): void {
    const { isOver, chunks } = this.dependencies;
    if (this.isClosed || isOver() || this.requests.some(({ hasFailed }) => hasFailed)) return;
    for (let missing = this.missing(); missing; missing = this.missing()) {
      if (!this.hasRoom(missing) || !chunks.tryAcquire(SPARED)) return;
      this.request(missing);
    }
  }

  /** Returns the first wanted blocks that are not requested yet; `undefined` if all of them are. */
  private missing(): BlockRange | undefined {
    if (!this.wanted) return undefined;
    let { from } = this.wanted;
    for (const request of this.requests) {
      if (from < request.from) return range(from, Math.min(request.from - 1, this.wanted.to));
      from = request.to + 1;
    }
    return range(from, this.wanted.to);
  }

  /**
   * Whether a request for the missing blocks may be sent now. Before the first answer none may: the provider may
   * hang.
   */
  private hasRoom(missing: BlockRange): boolean {
    const { requests, bytesPerBlock } = this;
    const chunks = requests.length + Number(this.hasPermit);
    if (bytesPerBlock === undefined || chunks >= CHUNKS_MAX) return false;
    const blocks = Math.min(this.dependencies.size.blocks, blocksOf(missing));
    if (
      this.mayBeRefused(blocks) &&
      requests.some((one) => one.bytes === undefined && this.mayBeRefused(blocksOf(one)))
    )
      return false;
    const expected = this.bytesBeingStored + blocks * bytesPerBlock;
    const bytesOf = (request: Request) => request.bytes ?? blocksOf(request) * bytesPerBlock;
    return chunks < 2 || requests.reduce((sum, request) => sum + bytesOf(request), expected) <= BYTES_MAX;
  }

  private mayBeRefused(blocks: number): boolean {
    return blocks > this.blocksAnswered * LARGER_MAX;
  }

  private request({ from, to }: BlockRange): void {
    const last = Math.max(from, Math.min(from + this.dependencies.size.blocks - 1, to));
    const blocks = { from, to: last, bytes: undefined, hasFailed: false };
    const request: Request = Object.assign(blocks, { read: this.read(blocks) });
    // `next` awaits the answer later. Until then, this handler keeps a failed request from counting as an unhandled
    // rejection.
    request.read.catch(() => {
      request.hasFailed = true;
    });
    this.requests.push(request);
    this.requests.sort((left, right) => left.from - right.from);
  }

  /**
   * Reads the blocks of a request. If they are refused, reads only the first ones: half of them, or as many as the
   * provider seems to accept. The other blocks are requested later.
   */
  private async read(request: Omit<Request, 'read'>): Promise<BlocksRead> {
    const { size, read } = this.dependencies;
    for (;;) {
      const { from, to } = request;
      const blocks = blocksOf(request);
      try {
        const answer = await read({ from, to });
        size.answered({ blocks, events: answer.records.length });
        this.bytesPerBlock = answer.bytes / blocks;
        this.blocksAnswered = Math.max(this.blocksAnswered, blocks);
        request.bytes = answer.bytes;
        this.requestAhead();
        return answer;
      } catch (error) {
        if (from === to || this.isClosed) throw error;
        // The blocks are refused here, not the size of the request: a provider may have the first half.
        if (error instanceof BlocksRefused) request.to = from + Math.floor(blocks / 2) - 1;
        else if (error instanceof RangeTooLarge) {
          size.refused(blocks, error.suggested);
          this.blocksAnswered = Math.min(this.blocksAnswered, blocks - 1);
          request.to = Math.min(from + size.blocks, to) - 1;
          this.requestAhead();
        } else throw error;
      }
    }
  }
}

const range = (from: number, to: number): BlockRange | undefined => (from <= to ? { from, to } : undefined);

/**
 * Drops the blocks of a chunk after `to`: while they were requested, a watch may have reached its maximum before them.
 */
const upTo = (to: number, chunk: Chunk): Chunk =>
  chunk.to <= to ? chunk : { ...chunk, to, records: chunk.records.filter(({ BlockNumber }) => BlockNumber <= to) };
