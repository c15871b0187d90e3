import type { ChainProgress, Transition } from '../../domain/chain-progress.ts';
import type { Header } from '../../domain/window/window.ts';
import { ForkingChain, linkTo } from '../../../../shared/testing/chain/forking-chain.ts';
import { linkedWindow, type Window } from '../../../../shared/chain/window.ts';

export const CONFIRMATIONS = 3;
const FIRST_BLOCKS = 6;

/** The blocks of a modelled chain, which may be replaced as long as they are not final. */
export class ModelledBlocks {
  private readonly blocks = new ForkingChain<Header>(CONFIRMATIONS);
  private branch = 0;

  constructor() {
    this.mine(FIRST_BLOCKS);
  }

  get chain(): readonly Header[] {
    return this.blocks.canonical;
  }

  mine(blocks: number): void {
    for (let left = blocks; left > 0; left -= 1) {
      const hash = `${String(this.chain.length)}/${String(this.branch)}`;
      this.blocks.add({ ...linkTo(this.chain.at(-1), hash), timestamp: 0 });
    }
  }

  /** Replaces up to `depth` blocks, none of which is final. */
  reorganise(depth: number): void {
    this.replaceFrom(Math.max(this.blocks.finalNumber + 1, this.chain.length - depth));
  }

  /** Replaces final blocks, too. @returns the first block that is replaced */
  giveUpFinal(depth: number): number {
    const first = Math.max(1, this.blocks.finalNumber - depth);
    this.replaceFrom(first);
    return first;
  }

  /** Replaces all of them, as when a development chain starts again. */
  replace(): void {
    this.branch += 1;
    this.blocks.become([]);
    this.blocks.startAgain();
    this.mine(FIRST_BLOCKS);
  }

  private replaceFrom(first: number): void {
    const blocks = this.chain.length - first;
    this.blocks.drop(blocks);
    this.branch += 1;
    this.mine(blocks + 1);
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
