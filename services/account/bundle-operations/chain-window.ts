import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { OperationInclusion, OperationsBlock, OperationsChain } from '../edge/operations-chain.ts';

export interface WindowBlock extends OperationsBlock {
  readonly inclusions: readonly OperationInclusion[];
}

/** What a look at the chain showed. It counts once it is taken over, so that whoever fails to record it is shown it again. */
export interface ChainChange {
  /** Blocks that left the chain, the newest first. */
  left: readonly WindowBlock[];
  /** Blocks that are new, the oldest first. */
  joined: readonly WindowBlock[];
  takeOver: () => void;
}

const BLOCKS_AT_ONCE = 100;
const UNCHANGED: ChainChange = { left: [], joined: [], takeOver: () => undefined };

/** The blocks of a chain that may still leave it, linked by their parents' hashes, with the operations that they have. */
export class ChainWindow {
  private blocks: WindowBlock[] = [];

  constructor(
    private readonly chain: Pick<OperationsChain, 'head' | 'blocks' | 'inclusions'>,
    /** The number of the first block. */
    private readonly first: number,
  ) {}

  get head(): WindowBlock | undefined {
    return this.blocks.at(-1);
  }

  block(hash: string): WindowBlock | undefined {
    return this.blocks.find((block) => block.hash === hash);
  }

  /** @throws ChainUnavailable, also where what a node says does not fit together */
  async look(): Promise<ChainChange> {
    const head = await this.chain.head();
    if (this.isBehind(head)) return UNCHANGED;
    let kept = this.blocks.filter(({ number }) => number < head.number);
    let found = await this.blocksBetween((kept.at(-1)?.number ?? this.first - 1) + 1, head);
    for (;;) {
      const newest = kept.at(-1);
      if (!newest || found[0]?.parentHash === newest.hash) break;
      kept = kept.slice(0, -1);
      const [before] = await this.linked([newest.number], found);
      found = [...(before ? [before] : []), ...found];
    }
    const left = this.blocks.slice(kept.length).reverse();
    if (kept.length === 0 && left.length > 0) {
      throw new Error(`a reorganisation of chain ${String(head.number)} goes back beyond final blocks`);
    }
    const joined = await this.withInclusions(found);
    return {
      left,
      joined,
      takeOver: () => {
        this.blocks = [...kept, ...joined];
      },
    };
  }

  /** Adds to its block what a node left out of it. @returns whether the block is one of these */
  add(inclusion: OperationInclusion): boolean {
    const block = this.block(inclusion.blockHash);
    if (!block) return false;
    const isKnown = block.inclusions.some(({ logIndex }) => logIndex === inclusion.logIndex);
    const whole = isKnown ? block : { ...block, inclusions: [...block.inclusions, inclusion] };
    this.blocks = this.blocks.map((one) => (one === block ? whole : one));
    return true;
  }

  /** Lets go of the blocks up to a number. */
  forget(upTo: number): void {
    this.blocks = this.blocks.filter(({ number }) => number > upTo);
  }

  /** Returns the blocks up to a number. */
  upTo(number: number): readonly WindowBlock[] {
    return this.blocks.filter((block) => block.number <= number);
  }

  /** A node that says what was is not believed: its head is known, or below what is final. */
  private isBehind({ number, hash }: OperationsBlock): boolean {
    const oldest = this.blocks[0]?.number ?? this.first;
    return number < oldest || this.block(hash) !== undefined;
  }

  private async blocksBetween(from: number, head: OperationsBlock): Promise<OperationsBlock[]> {
    const numbers = Array.from({ length: Math.max(0, head.number - from) }, (_, at) => from + at);
    let found: OperationsBlock[] = [head];
    while (numbers.length > 0) {
      found = [...(await this.linked(numbers.splice(-BLOCKS_AT_ONCE), found)), ...found];
    }
    return found;
  }

  /** Returns the blocks of these numbers, which are right before others. */
  private async linked(numbers: readonly number[], before: readonly OperationsBlock[]): Promise<OperationsBlock[]> {
    const found = (await this.chain.blocks(numbers)).filter((block) => block !== undefined);
    const all = [...found, ...before];
    const isLinked = all.every((block, at) => at === 0 || block.parentHash === all[at - 1]?.hash);
    if (found.length < numbers.length || !isLinked)
      throw new ChainUnavailable('the blocks of a node are not one chain');
    return found;
  }

  private async withInclusions(blocks: readonly OperationsBlock[]): Promise<WindowBlock[]> {
    const [first, last] = [blocks[0], blocks.at(-1)];
    if (!first || !last) return [];
    const byHash = new Map<string, OperationInclusion[]>(blocks.map(({ hash }) => [hash, []]));
    for (const inclusion of await this.chain.inclusions(first.number, last.number)) {
      const ofBlock = byHash.get(inclusion.blockHash);
      if (!ofBlock) throw new ChainUnavailable('a node answered logs of other blocks');
      ofBlock.push(inclusion);
    }
    return blocks.map((block) => ({ ...block, inclusions: byHash.get(block.hash) ?? [] }));
  }
}
