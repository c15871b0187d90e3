import type { WindowBlock } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';

/** How many headers are fetched one by one in one advance to a head, also when a reorganisation rewinds the window. */
export const WALK_BLOCKS_MAX = 500;

/** A block that is deeper than this is taken for final even where the chain does not say so: a window cannot grow for ever. */
export const FINAL_DEPTH_MAX = 1_024;

/** The links of a block, by which a header is compared with the window. */
export interface LinkedBlock {
  number: number;
  hash: string;
  parentHash: string;
}

/** A block of the chain, before it enters the window. */
export type Header = Omit<WindowBlock, 'since'>;

/**
 * The window of a chain that is followed: consecutive blocks, each the parent of the next, oldest first. The first is
 * final, the others may be reorganised.
 */
export type Window<Block extends LinkedBlock> = readonly [Block, ...Block[]];

/** How a header relates to the window. */
export type HeaderRelation =
  /** It is in the window, or older than it, on whatever branch: nothing to do. */
  | { kind: 'duplicate' }
  /** It follows the tip. */
  | { kind: 'extension' }
  /** Blocks `from`…`to` must come first. */
  | { kind: 'gap'; from: number; to: number }
  /** It belongs to another branch; its parent must come first. */
  | { kind: 'fork' }
  /** Its parent is a block before the tip: the blocks after its parent are no longer on the chain. */
  | { kind: 'reorganisation' }
  /** It is on a branch without the window's final block. */
  | { kind: 'deeper-than-finality' }
  /** Its number does not follow its parent's, which no valid block has. */
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

/** Splits the window after the block of this hash, which must be in it. The removed blocks come newest first. */
export const splitAfter = <Block extends LinkedBlock>(
  window: Window<Block>,
  hash: string,
): { kept: Window<Block>; removed: readonly Block[] } => {
  const at = window.findIndex((block) => block.hash === hash);
  const [first, ...rest] = window;
  return { kept: [first, ...rest.slice(0, at)], removed: window.slice(at + 1).toReversed() };
};

/** A block that cannot be reorganised. Without a hash it is the one of this number, on whatever branch. */
export interface FinalBlock {
  number: number;
  hash?: string;
}

/** Appends the block after the tip, and drops the blocks before the final one, unless that is on another branch. */
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

/**
 * Whether a head is too far ahead for its headers to be fetched one by one. The blocks up to it are then read as ranges, or
 * it is approached in steps. A window around such a head has no block in common with this one.
 */
export const isFarAhead = (window: Window<LinkedBlock>, final: FinalBlock): boolean =>
  final.number - tipOf(window).number > WALK_BLOCKS_MAX;

/** @param since every event that is observed in the block is stored after this position */
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
