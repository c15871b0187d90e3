import type { WindowBlock } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';

/** From the tip, what is walked to at once, also when the window is cut on the way. */
export const WALK_BLOCKS_MAX = 500;

/** A block as the window knows it. */
export interface LinkedBlock {
  number: number;
  hash: string;
  parentHash: string;
}

/** A block as the chain has it. */
export type Header = Omit<WindowBlock, 'since'>;

/**
 * The window of a chain that is followed: consecutive blocks, each the parent of the next, oldest first. The first is
 * final, the others may be reorganised.
 */
export type Window<Block extends LinkedBlock> = readonly [Block, ...Block[]];

/** What a header means for the window. */
export type HeaderClass =
  /** It is in the window, or older than it: nothing to do. */
  | { kind: 'duplicate' }
  /** It follows the tip. */
  | { kind: 'extension' }
  /** Blocks `from`…`to` must come first. */
  | { kind: 'gap'; from: number; to: number }
  /** It belongs to another branch; its parent must come first. */
  | { kind: 'fork' }
  /** It follows a block before the tip: those after that are no longer of the chain. */
  | { kind: 'reorganisation' }
  /** It contradicts the block that was final. */
  | { kind: 'deeper-than-finality' }
  /** Its number does not follow its parent's: no chain has such a block. */
  | { kind: 'impossible' };

export const tipOf = <Block extends LinkedBlock>(window: Window<Block>): Block => window.at(-1) ?? window[0];

/** Whether a block is the one after the tip. */
export const follows = (window: Window<LinkedBlock>, block: LinkedBlock): boolean => isChildOf(tipOf(window), block);

/** Blocks as a window; `undefined` when there are none, or one does not follow the one before it. */
export const linkedWindow = <Block extends LinkedBlock>(blocks: readonly Block[]): Window<Block> | undefined => {
  const [first, ...rest] = blocks;
  return first && rest.every((block, at) => isChildOf(blocks[at], block)) ? [first, ...rest] : undefined;
};

const isChildOf = (parent: LinkedBlock | undefined, { parentHash, number }: LinkedBlock): boolean =>
  parentHash === parent?.hash && number === parent.number + 1;

export const classifyHeader = (window: Window<LinkedBlock>, header: LinkedBlock): HeaderClass => {
  const [first] = window;
  const tip = tipOf(window);
  if (window.some(({ hash }) => hash === header.hash) || header.number < first.number) return { kind: 'duplicate' };
  const parent = window.find(({ hash }) => hash === header.parentHash);
  if (parent) {
    if (header.number !== parent.number + 1) return { kind: 'impossible' };
    return { kind: parent === tip ? 'extension' : 'reorganisation' };
  }
  if (header.number > tip.number + 1) return { kind: 'gap', from: tip.number + 1, to: header.number - 1 };
  if (header.number <= first.number + 1) return { kind: 'deeper-than-finality' };
  return { kind: 'fork' };
};

/** The window up to the block of this hash, which is one of its own, and what followed that, newest first. */
export const splitAfter = <Block extends LinkedBlock>(
  window: Window<Block>,
  hash: string,
): { kept: Window<Block>; removed: readonly Block[] } => {
  const at = window.findIndex((block) => block.hash === hash);
  const [first, ...rest] = window;
  return { kept: [first, ...rest.slice(0, at)], removed: window.slice(at + 1).toReversed() };
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
export const isFarAhead = (window: Window<LinkedBlock>, header: LinkedBlock, confirmations: number): boolean =>
  header.number - tipOf(window).number > confirmations + WALK_BLOCKS_MAX;

/** @param since position behind which all is stored that will be observed in the block */
export const toWindowBlock = ({ number, hash, parentHash, timestamp }: Header, since: Position): WindowBlock => ({
  number,
  hash,
  parentHash,
  timestamp,
  since,
});

export const toWindow = ([first, ...rest]: Window<Header>, since: Position): Window<WindowBlock> => [
  toWindowBlock(first, since),
  ...rest.map((header) => toWindowBlock(header, since)),
];
