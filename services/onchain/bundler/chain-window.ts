import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import { classifyHeader, splitAfter, tipOf, type Window } from '../../../shared/chain/window.ts';
import type { OperationInclusion, OperationsBlock, OperationsChain } from '../chain/operations-chain.ts';

export interface WindowBlock extends OperationsBlock {
  readonly inclusions: readonly OperationInclusion[];
}

/**
 * How the chain differs from the blocks in the window. Only `apply` changes the window: if the caller fails to record
 * the difference, the next `poll` returns the difference again.
 */
export interface ChainChange {
  /** Blocks that are no longer on the chain, newest first. */
  orphaned: readonly WindowBlock[];
  /** New blocks, oldest first. */
  added: readonly WindowBlock[];
  apply: () => void;
}

type Chain = Pick<OperationsChain, 'chainId' | 'head' | 'blocks' | 'inclusions'>;

const BLOCKS_AT_ONCE = 100;
const UNCHANGED: ChainChange = { orphaned: [], added: [], apply: () => undefined };

/**
 * The newest final block of a chain, and all later blocks with their operations:
 *
 *     7 (final) ← 8 ← 9 ← 10 (head)
 *                 └── 9' ← 10' ← 11'      a reorganisation: 9 and 10 are orphaned, 9', 10' and 11' added
 */
export class ChainWindow {
  private constructor(
    private readonly chain: Chain,
    private blocks: Window<WindowBlock>,
  ) {}

  /** Returns a window that begins with a final block, whose operations must be recorded. @throws ChainUnavailable */
  static async open(chain: Chain, finalNumber: number): Promise<ChainWindow> {
    const [final] = await chain.blocks([finalNumber]);
    if (!final) throw new ChainUnavailable(`a node does not have the final block ${String(finalNumber)}`);
    return new ChainWindow(chain, [{ ...final, inclusions: [] }]);
  }

  get head(): WindowBlock {
    return tipOf(this.blocks);
  }

  block(hash: string): WindowBlock | undefined {
    return this.blocks.find((block) => block.hash === hash);
  }

  /**
   * Returns how the chain differs from the window: not at all if the newest block of a node is already in the window,
   * or below the window's final block. @throws ChainUnavailable, also if the answers of a node contradict each other
   */
  async poll(): Promise<ChainChange> {
    let added: readonly [OperationsBlock, ...OperationsBlock[]] = [await this.chain.head()];
    for (;;) {
      const [oldest] = added;
      const relation = classifyHeader(this.blocks, oldest);
      switch (relation.kind) {
        case 'duplicate':
          return UNCHANGED;
        case 'extension':
          return this.change([], this.blocks, added);
        case 'reorganisation': {
          const { kept, removed } = splitAfter(this.blocks, oldest.parentHash);
          return this.change(removed, kept, added);
        }
        case 'gap':
          added = await this.withEarlier(added, relation.to - relation.from + 1);
          break;
        case 'fork':
          added = await this.withEarlier(added, 1);
          break;
        case 'deeper-than-finality':
          throw new Error(
            `chain ${String(this.chain.chainId)} reorganised its block ${String(this.blocks[0].number)}, which was final`,
          );
        case 'invalid':
          throw new ChainUnavailable(
            `a node gives the number ${String(oldest.number)} to a block that does not come right after its parent`,
          );
      }
    }
  }

  /**
   * Adds an operation, whose log a node had omitted, to its block in the window. @returns `false` if the block is final
   * or not in the window
   */
  add(inclusion: OperationInclusion): boolean {
    const [final, ...others] = this.blocks;
    const at = others.findIndex(({ hash }) => hash === inclusion.blockHash);
    const block = others[at];
    if (!block) return false;
    const isKnown = block.inclusions.some(({ logIndex }) => logIndex === inclusion.logIndex);
    if (!isKnown) others[at] = { ...block, inclusions: [...block.inclusions, inclusion] };
    this.blocks = [final, ...others];
    return true;
  }

  /** Returns the blocks after the window's final block, up to and including the block with this number. */
  upTo(number: number): readonly WindowBlock[] {
    return this.blocks.slice(1).filter((block) => block.number <= number);
  }

  /** Makes the block with this number the window's final block, and removes all earlier blocks from the window. */
  finalise(finalNumber: number): void {
    const [first = this.blocks[0], ...others] = this.blocks.filter(({ number }) => number >= finalNumber);
    this.blocks = [first, ...others];
  }

  private async change(
    orphaned: readonly WindowBlock[],
    kept: Window<WindowBlock>,
    blocks: readonly OperationsBlock[],
  ): Promise<ChainChange> {
    const added = await this.withInclusions(blocks);
    const apply = () => {
      this.blocks = [...kept, ...added];
    };
    return { orphaned, added, apply };
  }

  /** Reads the `count` blocks before the first given block, and returns them followed by the given blocks. */
  private async withEarlier(
    blocks: readonly [OperationsBlock, ...OperationsBlock[]],
    count: number,
  ): Promise<readonly [OperationsBlock, ...OperationsBlock[]]> {
    let all = blocks;
    for (let missing = count; missing > 0; missing -= BLOCKS_AT_ONCE) {
      const size = Math.min(missing, BLOCKS_AT_ONCE);
      const from = all[0].number - size;
      const found = await this.chain.blocks(Array.from({ length: size }, (_, at) => from + at));
      const [first, ...rest] = [...found.filter((block) => block !== undefined), ...all];
      const isLinked = rest.every(({ parentHash }, at) => parentHash === (rest[at - 1] ?? first)?.hash);
      if (!first || found.includes(undefined) || !isLinked)
        throw new ChainUnavailable('the blocks of a node do not link to each other');
      all = [first, ...rest];
    }
    return all;
  }

  private async withInclusions(blocks: readonly OperationsBlock[]): Promise<WindowBlock[]> {
    const [first, last] = [blocks[0], blocks.at(-1)];
    if (!first || !last) return [];
    const byHash = new Map<string, OperationInclusion[]>(blocks.map(({ hash }) => [hash, []]));
    for (const inclusion of await this.chain.inclusions(first.number, last.number)) {
      const ofBlock = byHash.get(inclusion.blockHash);
      if (!ofBlock) throw new ChainUnavailable('a node answered with logs of other blocks');
      ofBlock.push(inclusion);
    }
    return blocks.map((block) => ({ ...block, inclusions: byHash.get(block.hash) ?? [] }));
  }
}
