import type { BlockHeader, ChainReader } from '../../../shared/chain/chain-reader.ts';
import type { ChainSettings } from '../../../shared/config/settings.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { FINAL_DEPTH_MAX, type FinalBlock } from '../domain/window.ts';

/** The finalized block is asked for once in so many blocks, if the logs of one of them did not have to be: no block costs more than two calls. */
const ASKED_EVERY_BLOCKS = 16;
/** Where each block has logs it is asked for, too. */
const ASKED_AT_LATEST = 64;

/**
 * Who had finalized blocks has them again, but for this long they may be missing: a node that has just started does not know one
 * yet. Who has none for longer has none any more.
 */
const MISSED_MS = 3_600_000;

/** No window begins earlier than it did. */
const NOTHING_NEW: FinalBlock = { number: 0 };

type Settings = Pick<ChainSettings, 'finality' | 'confirmations'> & { isDevelopment: boolean };

/**
 * Which block of a chain is the newest final one: its `finalized` or `safe` block, or, where it has none, the block that is
 * `confirmations` deep. A chain whose settings say how deep goes by that, and so does a development chain.
 */
export class Finality {
  private finalized: FinalBlock | undefined;
  private askedAtHead = -Infinity;
  private newestHead = 0;
  private isCallSpared = false;
  private readonly missedUntilMs: number;
  private readonly isByDepth: boolean;
  /** By depth, or where there is no block of that name. */
  private readonly depth: number;

  /**
   * @param stored how many blocks follow the final one in the stored window: more than `depth` means that the chain had a `finalized` or
   * `safe` block before, which may be missing for `MISSED_MS`
   */
  constructor(
    private readonly reader: Pick<ChainReader, 'head' | 'headAndFinalized'>,
    { finality, confirmations, isDevelopment }: Settings,
    stored: number,
    private readonly clock: Pick<Clock, 'elapsed'>,
  ) {
    this.isByDepth = isDevelopment || typeof finality === 'number';
    this.depth = typeof finality === 'number' ? finality : confirmations;
    const hadFinalized = !this.isByDepth && stored > this.depth;
    this.missedUntilMs = hadFinalized ? clock.elapsed() + MISSED_MS : -Infinity;
  }

  /** Reads the head, and in the same request, if that was long ago, the finalized block. @throws ChainUnavailable */
  async head(): Promise<BlockHeader> {
    const next = this.newestHead + 1;
    if (!this.isDueAt(next)) {
      const head = await this.reader.head();
      this.newestHead = head.number;
      const isBeyond = head.number > next && head.number - this.askedAtHead >= ASKED_EVERY_BLOCKS;
      if (!(isBeyond || this.isContradictedBy(head)) || this.isByDepth) return head;
    }
    const { head, finalized } = await this.reader.headAndFinalized();
    this.finalized = finalized;
    this.askedAtHead = this.newestHead = head.number;
    this.isCallSpared = false;
    return head;
  }

  /** A block was read without asking for its logs. */
  spareCall(): void {
    this.isCallSpared = true;
  }

  /**
   * The newest final block when the head has this number. Of two blocks that contradict one another, a head and a finalized block
   * after it, one is not of this chain, or old: then nothing new is final.
   */
  at(head: number): FinalBlock {
    if ((this.finalized?.number ?? 0) > head) return NOTHING_NEW;
    const deepest = { number: Math.max(0, head - FINAL_DEPTH_MAX) };
    if (this.finalized) return this.finalized.number < deepest.number ? deepest : this.finalized;
    if (this.clock.elapsed() < this.missedUntilMs) return deepest;
    return { number: Math.max(0, head - this.depth) };
  }

  private isContradictedBy(head: BlockHeader): boolean {
    return head.number < (this.finalized?.number ?? 0);
  }

  private isDueAt(head: number): boolean {
    if (this.isByDepth) return false;
    return head - this.askedAtHead >= (this.isCallSpared ? ASKED_EVERY_BLOCKS : ASKED_AT_LATEST);
  }
}
