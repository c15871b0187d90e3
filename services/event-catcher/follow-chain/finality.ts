import type { ChainReader } from '../../../shared/chain/chain-reader.ts';
import { FINAL_DEPTH_MAX, type FinalBlock } from '../domain/window.ts';

/** The finalized block is asked for once in so many blocks. */
const ASKED_EVERY_BLOCKS = 16;

/**
 * Which block of a chain is the newest final one: its `finalized` block, or, where it has none, the block that is
 * `confirmations` deep. A development chain goes by depth.
 */
export class Finality {
  private finalized: FinalBlock | undefined;
  private askedAtHead = -Infinity;

  constructor(
    private readonly reader: Pick<ChainReader, 'finalized'>,
    private readonly settings: { confirmations: number; isDevelopment: boolean },
  ) {}

  /** Asks for the finalized block, if that was long ago. @throws ChainUnavailable */
  async look(head: number): Promise<void> {
    if (this.settings.isDevelopment || head - this.askedAtHead < ASKED_EVERY_BLOCKS) return;
    this.finalized = await this.reader.finalized();
    this.askedAtHead = head;
  }

  /** The newest final block when the head has this number. */
  at(head: number): FinalBlock {
    const deepest = { number: Math.max(0, head - FINAL_DEPTH_MAX) };
    if (!this.finalized) return { number: Math.max(0, head - this.settings.confirmations) };
    return this.finalized.number < deepest.number ? deepest : this.finalized;
  }
}
