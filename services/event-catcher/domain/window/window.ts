import type { WindowBlock } from '../../../../schemas/events/event-catcher/chain-events.ts';
import { tipOf, type FinalBlock, type LinkedBlock, type Window } from '../../../../shared/chain/window.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';

/** How many headers one advance to a head fetches one by one, even if a reorganisation rewinds the window. */
export const WALK_BLOCKS_MAX = 500;

/**
 * A block that is deeper than this counts as final even if the chain does not say so: a window cannot grow for ever.
 */
export const FINAL_DEPTH_MAX = 1_024;

/** A block of the chain, before it enters the window. */
export type Header = Omit<WindowBlock, 'since'>;

/**
 * Whether a head is too far ahead to fetch its headers one by one. Then the blocks up to it are read as ranges, or it
 * is approached in steps. A window around such a head has no block in common with this one.
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
