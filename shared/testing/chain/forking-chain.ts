/** Blocks from the first one on, by their numbers. */
export type Branch<Block> = readonly Block[];

/** The blocks of a chain, whose newest ones may be replaced: 1 ← 2 (final) ← 3 ← 4 (tip) becomes 1 ← 2 (final) ← 3' ← 4' ← 5'. */
export class ForkingChain<Block> {
  private branch: Branch<Block> = [];
  private highest = 0;

  /** @param finalDepth distance of the newest final block from the highest block there ever was */
  constructor(public finalDepth: number) {}

  get canonical(): Branch<Block> {
    return this.branch;
  }

  get newest(): Block {
    return newestOf(this.branch);
  }

  /** No block up to this one is replaced by a chain that keeps its promise. */
  get finalNumber(): number {
    return Math.max(0, this.highest - this.finalDepth);
  }

  /** Whether a branch contains the chain's newest final block, however the chain was reorganised since. */
  hasFinalBlock(branch: Branch<Block>): boolean {
    return branch[this.finalNumber] === this.branch[this.finalNumber];
  }

  add(block: Block): void {
    this.become([...this.branch, block]);
  }

  /** Replaces the chain by another branch. */
  become(branch: Branch<Block>): void {
    this.branch = branch;
    this.highest = Math.max(this.highest, branch.length - 1);
  }

  /** Orphans the newest blocks. Returns those that left the chain, in their order. */
  drop(depth: number): Branch<Block> {
    const kept = Math.max(0, this.branch.length - depth);
    const dropped = this.branch.slice(kept);
    this.branch = this.branch.slice(0, kept);
    return dropped;
  }

  /** Makes nothing final any more, like a development chain that starts again. */
  startAgain(): void {
    this.highest = this.branch.length - 1;
  }
}

export const newestOf = <Block>(branch: Branch<Block>): Block => {
  const newest = branch.at(-1);
  if (!newest) throw new Error('a chain has a first block');
  return newest;
};

/** Links a block to its parent; without a parent, it is the first one. */
export const linkTo = (
  parent: { number: number; hash: string } | undefined,
  hash: string,
): { number: number; hash: string; parentHash: string } => ({
  ...{ number: parent ? parent.number + 1 : 0, hash },
  parentHash: parent?.hash ?? `0x${'0'.repeat(64)}`,
});
