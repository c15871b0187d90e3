import type { WindowBlock } from '../../../schemas/events/chain-events.ts';

/** From the tip, what is walked to at once, also when the window is cut on the way. */
export const WALK_BLOCKS_MAX = 500;

/** A block as the window knows it. */
export interface LinkedBlock {
  number: number;
  hash: string;
  parentHash: string;
}

/**
 * The window of a chain that is followed: consecutive blocks, each the parent of the next, oldest first. The first is
 * final, the others may be reorganised.
 */
export type Window<Block extends LinkedBlock> = readonly [Block, ...Block[]];

/** What a header means for the window. */
export type Arrival<Block extends LinkedBlock> =
  /** It is in the window, or older than it: nothing to do. */
  | { kind: 'duplicate' }
  /** It follows the tip. */
  | { kind: 'extension' }
  /** Blocks `from`…`to` must come first. */
  | { kind: 'gap'; from: number; to: number }
  /** It belongs to another branch; the block of this hash must come first. */
  | { kind: 'fork'; parentHash: string }
  /** It follows the last of `kept`; `removed` is no longer of the chain, newest first. */
  | { kind: 'reorganisation'; kept: Window<Block>; removed: readonly Block[] }
  /** It contradicts the block that was final. */
  | { kind: 'deeper-than-finality' }
  /** Its number does not follow its parent's: no chain has such a block. */
  | { kind: 'impossible' };

export const arrivalOf = <Block extends LinkedBlock>(window: Window<Block>, header: LinkedBlock): Arrival<Block> => {
  const [first, ...rest] = window;
  const tip = rest.at(-1) ?? first;
  if (window.some(({ hash }) => hash === header.hash) || header.number < first.number) return { kind: 'duplicate' };
  const parent = window.find(({ hash }) => hash === header.parentHash);
  if (parent) {
    if (header.number !== parent.number + 1) return { kind: 'impossible' };
    if (parent === tip) return { kind: 'extension' };
    return { kind: 'reorganisation', ...cutAfter(window, parent.hash) };
  }
  if (header.number > tip.number + 1) return { kind: 'gap', from: tip.number + 1, to: header.number - 1 };
  if (header.number <= first.number + 1) return { kind: 'deeper-than-finality' };
  return { kind: 'fork', parentHash: header.parentHash };
};

/** The window up to one of its blocks, and what followed it, newest first. */
export const cutAfter = <Block extends LinkedBlock>(
  window: Window<Block>,
  hash: string,
): { kept: Window<Block>; removed: readonly Block[] } => {
  const at = window.findIndex((block) => block.hash === hash);
  const [first, ...rest] = window;
  return { kept: [first, ...rest.slice(0, Math.max(at, 0))], removed: window.slice(at + 1).toReversed() };
};

/** The window after a block that follows its tip; blocks more than `confirmations` behind the tip are let go. */
export const extend = <Block extends LinkedBlock>(
  window: Window<Block>,
  block: Block,
  confirmations: number,
): Window<Block> => {
  const longer = [...window, block];
  const [first = block, ...rest] = longer.slice(-(confirmations + 1));
  return [first, ...rest];
};

/**
 * A head so far away is not walked to at once: the blocks between are read as ranges, and then no block of the window is
 * in the next one; or it is approached in steps.
 */
export const isFar = (window: Window<LinkedBlock>, header: LinkedBlock, confirmations: number): boolean =>
  header.number - (window.at(-1) ?? window[0]).number > confirmations + WALK_BLOCKS_MAX;

export const toWindowBlock = (
  { number, hash, parentHash, timestamp }: Omit<WindowBlock, 'since'>,
  since: WindowBlock['since'],
): WindowBlock => ({ number, hash, parentHash, timestamp, since });
