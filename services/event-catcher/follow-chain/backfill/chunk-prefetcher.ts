import type { ObservedRecord } from '../../../schemas/events/chain-events.ts';
import { BlocksRefused, RangeTooLarge } from '../../../shared/chain/chain-reader.ts';
import { blocksOf, type BlockRange } from '../../../shared/chain/suggested-range.ts';
import type { Semaphore } from '../../../shared/primitives/semaphore.ts';
import type { ChunkSize } from '../domain/chunk-size.ts';

/** How many chunks a reading has at a time, from their request until they are stored: it waits for providers less often. */
const CHUNKS_MAX = 4;
/** With more in them there are two: one is stored, and the next one requested. Then storing takes longer than requests do. */
const BYTES_MAX = 8 * 1_024 * 1_024;
/** Of ranges that are larger by more than what was answered, one is requested at a time: they may be refused. */
const LARGER_MAX = 1.25;
/** Permits that are left to readings that have none. */
const SPARED = 1;

/** What was read in some blocks. */
export interface BlocksRead {
  records: ObservedRecord[];
  /** Of so many watches. */
  watches: number;
  /** Roughly, in memory. */
  bytes: number;
}

export type Chunk = BlockRange & BlocksRead;

interface Request extends BlockRange {
  read: Promise<BlocksRead>;
  /** Known when it has been answered. */
  bytes: number | undefined;
  hasFailed: boolean;
}

interface Dependencies {
  size: ChunkSize;
  /** Shared with other readings. A chunk holds a permit from its request until it is stored. */
  chunks: Semaphore;
  read: (range: BlockRange) => Promise<BlocksRead>;
  /** Whether nothing more is to be requested than what comes next. */
  isOver: () => boolean;
}

/**
 * Requests the chunks of one reading, several at a time, and gives them out in the order of their blocks.
 *
 * If it has any permit, it has one for the blocks that come next. Else readings could wait for each other's permits.
 */
export class ChunksAhead {
  /** In the order of their blocks. Between them may be blocks that were left when a refused request was narrowed. */
  private readonly requests: Request[] = [];
  /** Whether it has a permit beside those of the requests: of the chunk that is being stored, or for the next one. */
  private hasPermit = false;
  /** Of the chunk that is being stored. */
  private bytesBeingStored = 0;
  private bytesPerBlock: number | undefined;
  /** The most blocks that were answered, and not refused since. */
  private blocksAnswered = 0;
  /** What may be requested. */
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
   * Returns the chunk that begins at `from`, and ends at `to` or before. Meanwhile blocks up to `to` are requested.
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

  /** Tells that the chunk that was returned last is stored, and `next` is the block after it. */
  stored(next: number): void {
    this.bytesBeingStored = 0;
    if (this.requests.length === 0 || this.isRequested(next)) this.release();
  }

  /** What was requested and is not stored gives its permit back, as soon as it is not in memory any more. */
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

  /** Requests as much as there is room for. */
  private requestAhead(): void {
    const { isOver, chunks } = this.dependencies;
    if (this.isClosed || isOver() || this.requests.some(({ hasFailed }) => hasFailed)) return;
    for (let missing = this.missing(); missing; missing = this.missing()) {
      if (!this.hasRoom(missing) || !chunks.tryAcquire(SPARED)) return;
      this.request(missing);
    }
  }

  /** The first blocks that are wanted and not requested. */
  private missing(): BlockRange | undefined {
    if (!this.wanted) return undefined;
    let { from } = this.wanted;
    for (const request of this.requests) {
      if (from < request.from) return range(from, Math.min(request.from - 1, this.wanted.to));
      from = request.to + 1;
    }
    return range(from, this.wanted.to);
  }

  /** A provider that has answered nothing yet may hang: it is asked once. */
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
    // It is awaited when its blocks are the next ones. Until then this keeps its failure from being unhandled.
    request.read.catch(() => {
      request.hasFailed = true;
    });
    this.requests.push(request);
    this.requests.sort((left, right) => left.from - right.from);
  }

  /** Narrows a range that is refused, so that the first of its blocks are read, if they can be. The blocks that are left of it are requested later. */
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
        // Some of them are there perhaps, and how many blocks are asked for makes no difference.
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

/** A bound that was met meanwhile may end before the chunk. */
const upTo = (to: number, chunk: Chunk): Chunk =>
  chunk.to <= to ? chunk : { ...chunk, to, records: chunk.records.filter(({ BlockNumber }) => BlockNumber <= to) };
