/** What tells where a block is in its chain. */
export interface LinkedBlock {
  number: number;
  hash: string;
  parentHash: string;
}

/**
 * The window of a chain that is followed: consecutive blocks, oldest first. The first one is final, the others may
 * still be reorganised.
 *
 *     97 ← 98 ← 99 ← 100
 *     │    │         └─ tip: the newest block that was read
 *     │    └─ may be reorganised, like every block after it
 *     └─ final: never reorganised
 *
 * What a header is to this window (`classifyHeader`):
 *
 *     101   parent 100   extension             97 ← 98 ← 99 ← 100 ← 101
 *     99'   parent 98    reorganisation        97 ← 98 ← 99', after 100 and 99 are reverted
 *     105   parent 104   gap                   101 to 104 must come first
 *     100'  parent 99'   fork                  99' must come first
 *     98'   parent 97'   deeper-than-finality  97 is final, and 98' does not descend from it
 *     99    parent 98    duplicate             nothing to do
 */
export type Window<Block extends LinkedBlock> = readonly [Block, ...Block[]];

/** How a header relates to the window. */
export type HeaderRelation =
  /** It is in the window, or older than the window on any branch: nothing to do. */
  | { kind: 'duplicate' }
  /** It follows the tip. */
  | { kind: 'extension' }
  /** Blocks `from`…`to` must come first. */
  | { kind: 'gap'; from: number; to: number }
  /** It is on another branch, and its parent is unknown: the parent must come first. */
  | { kind: 'fork' }
  /** Its parent is in the window before the tip: the blocks after its parent have left the chain. */
  | { kind: 'reorganisation' }
  /** Its branch does not contain the window's final block. */
  | { kind: 'deeper-than-finality' }
  /** Its number is not its parent's plus one. No valid block is like that. */
  | { kind: 'invalid' };

export const tipOf = <Block extends LinkedBlock>(window: Window<Block>): Block => window.at(-1) ?? window[0];

/** Whether a block is the one after the tip. */
export const follows = (window: Window<LinkedBlock>, block: LinkedBlock): boolean => isChildOf(tipOf(window), block);

/** Returns the blocks as a window; `undefined` if there are none, or one does not follow the one before it. */
export const linkedWindow = <Block extends LinkedBlock>(blocks: readonly Block[]): Window<Block> | undefined => {
  const [first, ...rest] = blocks;
  return first && rest.every((block, at) => isChildOf(blocks[at], block)) ? [first, ...rest] : undefined;
};

const isChildOf = (parent: LinkedBlock | undefined, { parentHash, number }: LinkedBlock): boolean =>
  parentHash === parent?.hash && number === parent.number + 1;

export const classifyHeader = (window: Window<LinkedBlock>, header: LinkedBlock): HeaderRelation => {
  const [first] = window;
  const tip = tipOf(window);
  if (window.some(({ hash }) => hash === header.hash) || header.number < first.number) return { kind: 'duplicate' };
  const parent = window.find(({ hash }) => hash === header.parentHash);
  if (parent) {
    if (header.number !== parent.number + 1) return { kind: 'invalid' };
    return { kind: parent === tip ? 'extension' : 'reorganisation' };
  }
  if (header.number > tip.number + 1) return { kind: 'gap', from: tip.number + 1, to: header.number - 1 };
  if (header.number <= first.number + 1) return { kind: 'deeper-than-finality' };
  return { kind: 'fork' };
};

/** Splits the window after the block with this hash, which must be in it. The removed blocks come newest first. */
export const splitAfter = <Block extends LinkedBlock>(
  window: Window<Block>,
  hash: string,
): { kept: Window<Block>; removed: readonly Block[] } => {
  const at = window.findIndex((block) => block.hash === hash);
  const [first, ...rest] = window;
  return { kept: [first, ...rest.slice(0, at)], removed: window.slice(at + 1).toReversed() };
};

/** A final block. Without a hash it is the block with this number on any branch. */
export interface FinalBlock {
  number: number;
  hash?: string;
}

/**
 * Appends the block after the tip, and drops the blocks before the final one, unless the final one is on another
 * branch.
 */
export const extend = <Block extends LinkedBlock>(
  window: Window<Block>,
  block: Block,
  final: FinalBlock,
): Window<Block> => {
  const longer: Window<Block> = [...window, block];
  const at = longer.findIndex(({ number }) => number === final.number);
  const [first, ...rest] = longer.slice(Math.max(0, at));
  return first && (final.hash === undefined || final.hash === first.hash) ? [first, ...rest] : longer;
};
