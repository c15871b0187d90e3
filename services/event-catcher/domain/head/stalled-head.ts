import { tipOf, type LinkedBlock, type Window } from '../../../../shared/chain/window.ts';

/** Never warns about a stalled head sooner than this. */
const LEAST_MS = 300_000;
/** Chance does not make an interval this many times longer than the usual one, or than the longest recent one. */
const USUAL_INTERVALS = 25;
const LONGEST_INTERVALS = 5;

/** Milliseconds without a block until a chain counts as stalled, by the timestamps of its window. */
export const stalledAfterMs = (window: Window<LinkedBlock & { timestamp: number }>): number => {
  const [first, ...rest] = window;
  const tip = tipOf(window);
  const usual = (tip.timestamp - first.timestamp) / Math.max(1, rest.length);
  const longest = Math.max(0, ...rest.map(({ timestamp }, at) => timestamp - (window[at]?.timestamp ?? timestamp)));
  return Math.max(LEAST_MS, USUAL_INTERVALS * usual * 1_000, LONGEST_INTERVALS * longest * 1_000);
};

export const stalledText = (stalledMs: number): string =>
  `there has been no new block for ${String(Math.floor(stalledMs / 60_000))} minutes`;
