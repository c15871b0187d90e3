import type { BlockHeader, ChainReader } from '../../../../shared/chain/chain-reader.ts';
import type { ChainSettings } from '../../../../shared/config/chain-settings.ts';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { FINAL_DEPTH_MAX } from '../../domain/window/window.ts';
import type { FinalBlock } from '../../../../shared/chain/window.ts';

/**
 * How often, in blocks, the finalized block is requested if at least one of these blocks needed no request of its logs.
 * The saved request pays for the additional one, so that a block costs at most two calls on average.
 */
const ASKED_EVERY_BLOCKS = 16;
/** How often, in blocks, the finalized block is requested if the logs of every block had to be requested. */
const ASKED_AT_LATEST = 64;

/**
 * How long a chain that had finalized blocks may report none: a node that has just started does not know its finalized
 * block yet. After this time, finality goes by depth below the head.
 */
const MISSED_MS = 3_600_000;

/** Block 0 as the final block makes no further block final, because finality never moves back. */
const NOTHING_NEW: FinalBlock = { number: 0 };

type Settings = Pick<ChainSettings, 'finality' | 'confirmations'> & { isDevelopment: boolean };

/**
 * Determines the newest final block of a chain: the `finalized` or `safe` block that endpoints report or, if they
 * report none, the block `confirmations` below the head. On a development chain, or if a depth is configured, always
 * the block at that depth below the head.
 */
export class Finality {
  private finalized: FinalBlock | undefined;
  private askedAtHead = -Infinity;
  private newestHead = 0;
  private isCallSpared = false;
  private readonly missedUntilMs: number;
  private readonly isByDepth: boolean;
  /** How many blocks below the head a block is final, if endpoints report no `finalized` or `safe` block. */
  private readonly depth: number;

  /**
   * @param stored how many blocks after the final one were stored last time: more than `depth` means that the chain had
   * a `finalized` or `safe` block, which may be missing for `MISSED_MS`
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

  /**
   * Reads the head. Also reads the finalized block if that was last read many blocks ago, or is above the head.
   * @throws ChainUnavailable
   */
  async head(): Promise<BlockHeader> {
    const next = this.newestHead + 1;
    if (!this.isDueAt(next)) {
      const head = await this.reader.head();
      this.newestHead = head.number;
      const isBeyond = head.number > next && head.number - this.askedAtHead >= ASKED_EVERY_BLOCKS;
      const isContradicted = head.number < (this.finalized?.number ?? 0);
      if (!(isBeyond || isContradicted) || this.isByDepth) return head;
    }
    const { head, finalized } = await this.reader.headAndFinalized();
    this.finalized = finalized;
    this.askedAtHead = this.newestHead = head.number;
    this.isCallSpared = false;
    return head;
  }

  /** Notes that a block needed no request of its logs, because its bloom ruled out logs of all watches. */
  spareCall(): void {
    this.isCallSpared = true;
  }

  /**
   * Returns the newest final block when the head has the number `head`. If the finalized block is above the head, one
   * of the two is stale or of another chain, and no further block becomes final.
   */
  at(head: number): FinalBlock {
    if ((this.finalized?.number ?? 0) > head) return NOTHING_NEW;
    const deepest = { number: Math.max(0, head - FINAL_DEPTH_MAX) };
    if (this.finalized) return this.finalized.number < deepest.number ? deepest : this.finalized;
    if (this.clock.elapsed() < this.missedUntilMs) return deepest;
    return { number: Math.max(0, head - this.depth) };
  }

  private isDueAt(head: number): boolean {
    if (this.isByDepth) return false;
    return head - this.askedAtHead >= (this.isCallSpared ? ASKED_EVERY_BLOCKS : ASKED_AT_LATEST);
  }
}
