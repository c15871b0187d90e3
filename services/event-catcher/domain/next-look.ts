import { tipOf, type LinkedBlock, type Window } from './window.ts';

/** The next block is looked for this much earlier than it is due, so that looks come closer to blocks. */
const EARLY = 0.95;
/** How often an overdue block is looked for, in parts of the time between blocks. */
const OVERDUE_LOOKS = 8;
/** An overdue block is looked for less often the longer it is overdue. */
const OVERDUE_PART = 1 / 4;
/** Where new blocks are announced, one is looked for unannounced only after so many of their intervals. */
const UNANNOUNCED_BLOCKS = 2;

export interface Looked {
  /** How long ago the newest block was found. */
  foundAgoMs: number;
  /** How long ago a block was announced; `Infinity` if none ever was. */
  announcedAgoMs: number;
}

/**
 * How long to wait, in milliseconds, until the next look for a new head: as long as the chain's own blocks are apart, by
 * the window's timestamps, but for the bounds.
 */
export const nextLookMs = (
  window: Window<LinkedBlock & { timestamp: number }>,
  { foundAgoMs, announcedAgoMs }: Looked,
  bounds: { leastMs: number; mostMs: number },
): number => {
  const [first] = window;
  const tip = tipOf(window);
  const blockMs = tip === first ? 0 : ((tip.timestamp - first.timestamp) * 1_000) / (tip.number - first.number);
  const isAnnounced = announcedAgoMs < UNANNOUNCED_BLOCKS * blockMs;
  const dueMs = (isAnnounced ? UNANNOUNCED_BLOCKS : EARLY) * blockMs - foundAgoMs;
  const pauseMs = dueMs > 0 ? dueMs : Math.max(blockMs / OVERDUE_LOOKS, -dueMs * OVERDUE_PART);
  return Math.min(bounds.mostMs, Math.max(bounds.leastMs, pauseMs));
};
