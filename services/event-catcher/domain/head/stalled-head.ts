import { tipOf, type LinkedBlock, type Window } from './window.ts';

/** No chain is worth a word that has had no block for less. */
const LEAST_MS = 300_000;
/** So many of its usual intervals, or of the longest one lately, are longer than chance makes them. */
const USUAL_INTERVALS = 25;
const LONGEST_INTERVALS = 5;

/** How long a chain may go without a block before that is said, in milliseconds, by the timestamps of its window. */
export const stillMaxMs = (window: Window<LinkedBlock & { timestamp: number }>): number => {
  const [first, ...rest] = window;
  const tip = tipOf(window);
  const usual = (tip.timestamp - first.timestamp) / Math.max(1, rest.length);
  const longest = Math.max(0, ...rest.map(({ timestamp }, at) => timestamp - (window[at]?.timestamp ?? timestamp)));
  return Math.max(LEAST_MS, USUAL_INTERVALS * usual * 1_000, LONGEST_INTERVALS * longest * 1_000);
};

export const stillText = (stillMs: number): string =>
  `there has been no new block for ${String(Math.floor(stillMs / 60_000))} minutes`;
