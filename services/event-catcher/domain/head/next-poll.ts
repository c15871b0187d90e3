import { tipOf, type LinkedBlock, type Window } from './window.ts';

/** The next block is looked for this much earlier than it is due, so that looks come closer to blocks. */
const EARLY = 0.95;
/** How often an overdue block is looked for, in parts of the time between blocks. */
const OVERDUE_LOOKS = 8;
/** An overdue block is looked for less often the longer it is overdue, up to a bound: it may be the provider that stood still. */
const OVERDUE_PART = 1 / 4;
const OVERDUE_MAX_MS = 5_000;
/** Where new blocks are announced, one is looked for unannounced only after so many of their intervals. */
const UNANNOUNCED_BLOCKS = 2;

type TimedWindow = Window<LinkedBlock & { timestamp: number }>;

export interface Looked {
  /** How long ago the newest block was found. */
  foundAgoMs: number;
  /** How long ago a block was announced; `Infinity` if none ever was. */
  announcedAgoMs: number;
}

/** A chain that mines on demand has some blocks at regular times by chance, but not so many, nor so far apart. */
const REGULAR_INTERVALS = 16;
const REGULAR_LEAST_MS = 2_000;
/** The shortest of regular intervals, in parts of the usual one. */
const SHORTEST_PART = 1 / 2;

/**
 * How long to wait, in milliseconds, until the next look for a new head: as long as the chain's own blocks are apart, by
 * the window's timestamps, but for the bounds. A chain of this machine may mine on demand, so that its next block may come at any time:
 * unless its blocks come at regular times, it is looked at as often as may be.
 */
export const nextLookMs = (
  window: TimedWindow,
  { foundAgoMs, announcedAgoMs }: Looked,
  bounds: { leastMs: number; mostMs: number; isLocal: boolean },
): number => {
  const blockMs = usualMs(window);
  if (bounds.isLocal && !isRegular(window, blockMs)) return bounds.leastMs;
  const isAnnounced = announcedAgoMs < UNANNOUNCED_BLOCKS * blockMs;
  const dueMs = (isAnnounced ? UNANNOUNCED_BLOCKS : EARLY) * blockMs - foundAgoMs;
  const overdueMs = Math.min(OVERDUE_MAX_MS, -dueMs * OVERDUE_PART);
  const pauseMs = dueMs > 0 ? dueMs : Math.max(blockMs / OVERDUE_LOOKS, overdueMs);
  return Math.min(bounds.mostMs, Math.max(bounds.leastMs, pauseMs));
};

const usualMs = (window: TimedWindow): number => {
  const [first] = window;
  const tip = tipOf(window);
  return tip === first ? 0 : ((tip.timestamp - first.timestamp) * 1_000) / (tip.number - first.number);
};

const isRegular = (window: TimedWindow, blockMs: number): boolean =>
  window.length > REGULAR_INTERVALS &&
  blockMs >= REGULAR_LEAST_MS &&
  window.every(({ timestamp }, at) => {
    const before = window[at - 1];
    return !before || (timestamp - before.timestamp) * 1_000 >= SHORTEST_PART * blockMs;
  });
