import type { ChainProgress, Transition } from '../domain/chain-progress.ts';
import { linkedWindow, type Header, type Window } from '../domain/window.ts';

export const CONFIRMATIONS = 3;

/** The blocks of a modelled chain, which may be replaced as long as they are not final. */
export class ModelledBlocks {
  readonly chain: Header[] = [];
  private branch = 0;
  private highest = 0;

  constructor() {
    this.mine(6);
  }

  mine(blocks: number): void {
    for (let left = blocks; left > 0; left -= 1) {
      const number = this.chain.length;
      const hash = `${String(number)}/${String(this.branch)}`;
      this.chain.push({ number, hash, parentHash: this.chain.at(-1)?.hash ?? '', timestamp: 0 });
    }
    this.highest = Math.max(this.highest, this.chain.length - 1);
  }

  /** Replaces up to `depth` blocks, none of which is final. */
  reorganise(depth: number): void {
    const kept = Math.max(this.highest - CONFIRMATIONS + 1, this.chain.length - depth);
    const blocks = this.chain.length - kept + 1;
    this.chain.length = kept;
    this.branch += 1;
    this.mine(blocks);
  }

  /** Replaces final blocks, too. @returns the first block that is replaced */
  giveUpFinal(depth: number): number {
    const kept = Math.max(1, this.highest - CONFIRMATIONS - depth);
    const blocks = this.chain.length - kept + 1;
    this.chain.length = kept;
    this.branch += 1;
    this.mine(blocks);
    return kept;
  }

  /** Replaces all of them, as when a development chain starts again. */
  replace(): void {
    this.chain.length = 0;
    this.branch += 1;
    this.highest = 0;
    this.mine(6);
  }

  windowAtHead(): Window<Header> {
    const window = linkedWindow(this.chain.slice(-1 - CONFIRMATIONS));
    if (!window) throw new Error('a chain has blocks');
    return window;
  }
}

/** The next value; `undefined` if the transition is refused. */
export const applied = (transition: Transition, progress: ChainProgress): ChainProgress | undefined => {
  try {
    return transition(progress);
  } catch (error) {
    if (error instanceof Error && error.constructor === Error) return undefined;
    throw error;
  }
};
