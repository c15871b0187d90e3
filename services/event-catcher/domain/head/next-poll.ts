import { tipOf, type LinkedBlock, type Window } from '../../../../shared/chain/window.ts';

/** Polls this much before the next block is due, so that polls and blocks come closer together. */
const EARLY = 0.95;
/** How often an overdue block is polled for, per time between blocks. */
const OVERDUE_POLLS = 8;
/** An overdue block is polled for less and less often, down to a bound: perhaps only the provider stalled. */
const OVERDUE_PART = 1 / 4;
const OVERDUE_MAX_MS = 5_000;
/**
 * How often a chain on this machine that may mine on demand is polled although its node announces blocks: a node does
 * not announce that it went back to an earlier block.
 */
const LISTENING_POLL_MS = 1_000;
/** Where blocks are announced, this many block times pass before a poll without an announcement. */
const UNANNOUNCED_BLOCKS = 2;

type TimedWindow = Window<LinkedBlock & { timestamp: number }>;

export interface Polled {
  /** How long ago the newest block was found. */
  foundAgoMs: number;
  /** How long ago a block was announced; `Infinity` if none ever was. */
  announcedAgoMs: number;
  /** Whether a node has promised to announce blocks. */
  isListening: boolean;
}

/**
 * A chain that mines on demand may have a few blocks at regular times by chance, but not this many, nor this far apart.
 */
const REGULAR_INTERVALS = 16;
const REGULAR_LEAST_MS = 2_000;
/** The shortest interval that still counts as regular, as a share of the usual one. */
const SHORTEST_PART = 1 / 2;

/**
 * Milliseconds until the next poll for a new head: the chain's usual time between blocks, by the window's timestamps,
 * within bounds. A chain on this machine may mine on demand, at any time. Unless its blocks come at regular times, or
 * are announced, it is polled as often as allowed.
 */
export const nextPollMs = (
  window: TimedWindow,
  { foundAgoMs, announcedAgoMs, isListening }: Polled,
  bounds: { leastMs: number; mostMs: number; isLocal: boolean },
): number => {
  const blockMs = usualMs(window);
  if (bounds.isLocal && !isRegular(window, blockMs)) return isListening ? LISTENING_POLL_MS : bounds.leastMs;
  const isAnnounced = announcedAgoMs < UNANNOUNCED_BLOCKS * blockMs;
  const dueMs = (isAnnounced ? UNANNOUNCED_BLOCKS : EARLY) * blockMs - foundAgoMs;
  const overdueMs = Math.min(OVERDUE_MAX_MS, -dueMs * OVERDUE_PART);
  const pauseMs = dueMs > 0 ? dueMs : Math.max(blockMs / OVERDUE_POLLS, overdueMs);
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
