import type { WindowBlock } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import {
  lastBlockOf,
  newJoiningRange,
  findJoiningRange,
  liveWatches,
  type Coverage,
  type Range,
  type CoveredWatch,
} from './coverage.ts';
import { splitAfter, extend, follows, toWindow, toWindowBlock, type Header, type Window } from './window.ts';

/**
 * How far a chain was read: what it says is stored, and all that is stored and was not reverted, it says. A value, which
 * changes by transitions only.
 */
export interface ChainProgress extends Coverage {
  readonly window: Window<WindowBlock>;
  /** Where the newest `ChainAdvanced` is stored: what is observed from now on is stored behind it. */
  readonly position: Position;
}

/** Gives the next value. Throws where it was decided upon another value than the one it is applied to. */
export type Transition = (progress: ChainProgress) => ChainProgress;

/** Nothing is read yet, and no watch is taken. */
export const initialProgress = (headers: Window<Header>, position: Position): ChainProgress => ({
  window: toWindow(headers, position),
  backfills: [],
  watchesUpTo: 0,
  position,
});

/** The chain is another one from here on: all that was observed of it is reverted, and its watches are taken again. */
export const resetProgress =
  (headers: Window<Header>): Transition =>
  ({ position }) =>
    initialProgress(headers, position);

/** A `ChainAdvanced` is stored that holds this value. */
export const storedAt =
  (position: Position): Transition =>
  (progress) => ({ ...progress, position });

/** A block follows the tip, and what the live watches have in it is stored. */
export const advance =
  (header: Header, confirmations: number): Transition =>
  (progress) => {
    if (!follows(progress.window, header)) throw new Error(`block ${header.hash} does not follow the tip`);
    const block = toWindowBlock(header, progress.position);
    return { ...progress, window: extend(progress.window, block, confirmations) };
  };

/** The blocks after this one are no longer of the chain, and what was observed in them is reverted. */
export const rewind =
  (hash: string): Transition =>
  (progress) => {
    if (!progress.window.some((block) => block.hash === hash)) throw new Error(`block ${hash} is not in the window`);
    return { ...progress, window: splitAfter(progress.window, hash).kept };
  };

/** The window begins again near a far head; live watches read all after block `last` as ranges, and join again. */
export const skipAhead =
  (headers: Window<Header>, last: number, watches: Iterable<CoveredWatch>): Transition =>
  (progress) => {
    const window = toWindow(headers, progress.position);
    if (last < progress.window[0].number || last >= window[0].number) throw new Error('a leap leads ahead');
    const ranges = liveWatches(progress, watches).map(({ id, startBlock }) =>
      newJoiningRange(window, { id, startBlock: Math.max(last + 1, startBlock) }),
    );
    return { ...progress, window, backfills: [...progress.backfills, ...ranges] };
  };

/** A watch is new: all of it is to be read. */
export const addWatch =
  (watch: CoveredWatch, position: Position): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    return setWatchesUpTo(position)({ ...progress, backfills: [...backfills, newJoiningRange(window, watch)] });
  };

/**
 * A watch begins earlier, and what it has in `blocksToExtend` is stored: no block that may be reorganised is read as a
 * range. One that has read nothing yet begins its only range earlier.
 */
export const extendWatch =
  (watch: CoveredWatch, startBlock: number, position: Position): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    const from = { from: startBlock, next: startBlock };
    const joining = findJoiningRange(progress, watch.id);
    const to = Math.min(watch.startBlock - 1, window[0].number);
    const isUnread = joining?.from === watch.startBlock && joining.next === watch.startBlock;
    const earlier = backfills.map((range) => (isUnread && range === joining ? { ...range, ...from } : range));
    const isRange = !isUnread && startBlock <= to;
    const range = { watchId: watch.id, ...from, to, joins: false };
    return setWatchesUpTo(position)({ ...progress, backfills: isRange ? [...earlier, range] : earlier });
  };

/** Of the window: what a watch that begins earlier has to store with that. One that is still to join does so then. */
export const blocksToExtend = (progress: ChainProgress, watch: CoveredWatch, startBlock: number): WindowBlock[] =>
  findJoiningRange(progress, watch.id)
    ? []
    : progress.window.slice(1).filter(({ number }) => startBlock <= number && number < watch.startBlock);

/** Everything that is registered up to a position is taken. */
export const setWatchesUpTo =
  (position: Position): Transition =>
  (progress) => {
    if (position <= progress.watchesUpTo) throw new Error('what is registered is taken in its order, and once');
    return { ...progress, watchesUpTo: position };
  };

/** What a watch has in blocks `from`…`to`, which are the next of one of its ranges, is stored. */
export const cover =
  (watchId: string, { from, to }: { from: number; to: number }): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    const isNext = (range: Range) =>
      range.watchId === watchId && range.next === from && to <= lastBlockOf(window, range);
    const at = backfills.findIndex(isNext);
    const range = backfills[at];
    if (!range || to < from) throw new Error(`blocks ${String(from)} to ${String(to)} are not the next of ${watchId}`);
    const left = { ...range, next: to + 1, to: lastBlockOf(window, range) };
    const isFinished = !left.joins && left.next > left.to;
    return { ...progress, backfills: isFinished ? backfills.toSpliced(at, 1) : backfills.with(at, left) };
  };

/** A watch whose range has come to the window is live, and what it has in `blocksToJoin` is stored. */
export const join =
  (watchId: string): Transition =>
  (progress) => {
    const range = findJoiningRange(progress, watchId);
    if (!range || !isCovered(progress, range)) throw new Error(`${watchId} has blocks to read before it joins`);
    return { ...progress, backfills: progress.backfills.filter((one) => one !== range) };
  };

/** Of the window: what a watch that joins has to store with that. */
export const blocksToJoin = ({ window }: ChainProgress, { startBlock }: CoveredWatch): WindowBlock[] =>
  window.slice(1).filter(({ number }) => startBlock <= number);

/** Whether nothing of a range is left to read but the window. */
export const isCovered = ({ window }: ChainProgress, range: Range): boolean => range.next > lastBlockOf(window, range);

/** Whether nothing has happened between two values but that blocks were covered. */
export const hasOnlyCovered = (before: ChainProgress, after: ChainProgress): boolean =>
  before.window === after.window &&
  before.watchesUpTo === after.watchesUpTo &&
  before.backfills.length === after.backfills.length;
