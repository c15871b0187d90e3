import type { WindowBlock } from '../../../schemas/events/event-catcher/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { withAnchor, type Anchor } from './window/anchors.ts';
import {
  joinNeighbours,
  lastBlockOf,
  newJoiningRange,
  findJoiningRange,
  findRange,
  liveWatches,
  type Coverage,
  type Range,
  type CoveredWatch,
} from './backfill/coverage.ts';
import { toWindow, toWindowBlock, type Header } from './window/window.ts';
import { splitAfter, extend, follows, tipOf, type FinalBlock, type Window } from '../../../shared/chain/window.ts';

/**
 * How far a chain has been read. All records of the blocks it covers are stored, and it covers every stored record that
 * is not reverted. An immutable value: only transitions make the next one.
 */
export interface ChainProgress extends Coverage {
  readonly window: Window<WindowBlock>;
  /** Some of the final blocks before the window, oldest first. */
  readonly anchors: readonly Anchor[];
  /** Position of the newest `ChainAdvanced`. Records that are observed from now on get later positions. */
  readonly position: Position;
}

/** Returns the next progress. Throws if it does not fit the progress that it is applied to. */
export type Transition = (progress: ChainProgress) => ChainProgress;

/** The progress of a chain before anything was read: a window, and no watches. */
export const initialProgress = (headers: Window<Header>, position: Position): ChainProgress => ({
  window: toWindow(headers, position),
  anchors: [],
  backfills: [],
  deferred: new Map(),
  watchesUpTo: 0,
  position,
});

/** The chain was replaced by another one: all records are reverted, and all watches are added again. */
export const resetProgress =
  (headers: Window<Header>): Transition =>
  ({ position }) =>
    initialProgress(headers, position);

/** A `ChainAdvanced` with this value was stored at a position. */
export const storedAt =
  (position: Position): Transition =>
  (progress) => ({ ...progress, position });

/** Appends a block to the window. The records of the live watches in it are stored. */
export const advance =
  (header: Header, final: FinalBlock): Transition =>
  (progress) => {
    if (!follows(progress.window, header)) throw new Error(`block ${header.hash} does not follow the tip`);
    const block = toWindowBlock(header, progress.position);
    return withWindow(progress, extend(progress.window, block, final));
  };

/** Replaces the window, and keeps its former first block as an anchor. */
const withWindow = (progress: ChainProgress, window: Window<WindowBlock>): ChainProgress => {
  const [first] = progress.window;
  const { number } = window[0];
  return {
    ...progress,
    window,
    anchors: number > first.number ? withAnchor(progress.anchors, first, number) : progress.anchors,
  };
};

/** Drops the blocks after this one: they left the chain, and their records are reverted. */
export const rewind =
  (hash: string): Transition =>
  (progress) => {
    if (!progress.window.some((block) => block.hash === hash)) throw new Error(`block ${hash} is not in the window`);
    const { kept } = splitAfter(progress.window, hash);
    return { ...withRanges(progress, upTo(tipOf(kept).number)), window: kept };
  };

/**
 * Ends a range at `last`: the blocks that replace the dropped ones are read at the head. A joining range stays as it
 * is.
 */
const upTo =
  (last: number) =>
  (range: Range): Range | undefined => {
    if (range.joins || range.to <= last) return range;
    return range.next <= last ? { ...range, to: last } : undefined;
  };

/** Changes all ranges, deferred or not, and drops those for which `change` returns `undefined`. */
const withRanges = (progress: ChainProgress, change: (range: Range) => Range | undefined): ChainProgress => {
  const changed = (ranges: readonly Range[]): readonly Range[] => {
    const after = ranges.flatMap((range) => change(range) ?? []);
    return after.length === ranges.length && after.every((range, at) => range === ranges[at]) ? ranges : after;
  };
  const changedDeferred = Array.from(progress.deferred).filter(([, ranges]) => changed(ranges) !== ranges);
  const backfills = changed(progress.backfills);
  if (changedDeferred.length === 0) return { ...progress, backfills };
  const deferred = new Map(progress.deferred);
  for (const [watchId, ranges] of changedDeferred) deferred.set(watchId, changed(ranges));
  return { ...progress, backfills, deferred };
};

/**
 * Moves the window to a head that is far ahead. The live watches read the blocks after `last` as ranges, and then join
 * the head again.
 */
export const skipAhead =
  (headers: Window<Header>, last: number, watches: Iterable<CoveredWatch>): Transition =>
  (progress) => {
    if (last < progress.window[0].number || last >= headers[0].number)
      throw new Error('the new window is not ahead of the old one');
    const window = toWindow(headers, progress.position);
    return readAfter(window, last, watches)(withWindow(progress, window));
  };

/**
 * Replaces the window after the chain dropped final blocks, and lets watches read everything after `last` as ranges; the caller reverts
 * the records. `since` of the new window is 0, because records in blocks up to `last` may have been stored at any time.
 */
export const replaceWindow =
  (headers: Window<Header>, last: number, watches: Iterable<CoveredWatch>): Transition =>
  (progress) => {
    const anchors = progress.anchors.filter(({ number }) => number <= Math.min(last, headers[0].number - 1));
    return readAfter(toWindow(headers, 0), last, watches)({ ...progress, anchors });
  };

const readAfter =
  (window: Window<WindowBlock>, last: number, watches: Iterable<CoveredWatch>): Transition =>
  (progress) => {
    const all = [...watches];
    const ranges = liveWatches(progress, all).map(({ id, startBlock }) =>
      newJoiningRange(window, { id, startBlock: Math.max(last + 1, startBlock) }),
    );
    const starts = new Map(all.map(({ id, startBlock }) => [id, startBlock]));
    // Ranges that began after `last` had read blocks that have left the chain. A joining range ends at the new window:
    // what comes after is read at the head.
    const behind = withRanges(progress, (range) =>
      range.joins
        ? {
            ...from(range, Math.max(last + 1, starts.get(range.watchId) ?? 0)),
            to: Math.min(range.to, window[0].number),
          }
        : upTo(last)(range),
    );
    return { ...behind, window, backfills: [...behind.backfills, ...ranges] };
  };

/** Lets a range begin at this block, if that is earlier. */
const from = (range: Range, block: number): Range =>
  block < range.next ? { ...range, from: Math.min(range.from, block), next: block } : range;

/**
 * The records of these watches in the block after the tip cannot be read. Each watch gets a joining range from that
 * block on.
 */
export const fallBehind =
  (watches: readonly CoveredWatch[]): Transition =>
  (progress) => {
    const { window } = progress;
    const starts = new Map(watches.map(({ id, startBlock }) => [id, Math.max(startBlock, tipOf(window).number + 1)]));
    const lowered = withRanges(progress, (range) =>
      range.joins ? from(range, starts.get(range.watchId) ?? Infinity) : range,
    );
    const live = Array.from(starts).filter(([id]) => findJoiningRange(progress, id) === undefined);
    const added = live.map(([id, startBlock]) => newJoiningRange(window, { id, startBlock }));
    return added.length > 0 ? { ...lowered, backfills: [...lowered.backfills, ...added] } : lowered;
  };

/** Adds a watch, with everything from its start block still to be read. */
export const addWatch =
  (watch: CoveredWatch, position: Position): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    return setWatchesUpTo(position)({ ...progress, backfills: [...backfills, newJoiningRange(window, watch)] });
  };

/** Stops a watch. The blocks after the tip become a range, which is read once the watch is resumed. */
export const stopWatch =
  (watch: CoveredWatch, position: Position): Transition =>
  (progress) =>
    setWatchesUpTo(position)(fallBehind([watch])(progress));

/**
 * Moves the start of a watch back. If nothing of it was read yet, its only range begins earlier; otherwise it gets
 * another range, which may end in the window.
 */
export const extendWatch =
  (watch: CoveredWatch, startBlock: number, position: Position): Transition =>
  (before) => {
    const progress = resumeDeferred([watch.id])(before);
    const { window, backfills } = progress;
    const first = { from: startBlock, next: startBlock };
    const joining = findJoiningRange(progress, watch.id);
    const to = Math.min(watch.startBlock - 1, tipOf(window).number);
    const isUnread = joining !== undefined && isUnreadRange(joining, watch);
    const earlier = backfills.map((range) => (isUnread && range === joining ? { ...range, ...first } : range));
    const isRange = !isUnread && startBlock <= to;
    const range = { watchId: watch.id, ...first, to, joins: false };
    const all = isRange ? [...earlier, range] : earlier;
    const joined = joinNeighbours(all, { id: watch.id, wantedFrom: startBlock });
    return setWatchesUpTo(position)({ ...progress, backfills: joined });
  };

/** Whether nothing of the watch has been read yet. */
const isUnreadRange = ({ from, next }: Range, { startBlock }: CoveredWatch): boolean =>
  from === startBlock && next === startBlock;

/** Defers the ranges of watches: they are kept, and not read until they are resumed. */
export const defer =
  (watchIds: readonly string[]): Transition =>
  (progress) => {
    const ids = new Set(watchIds);
    const deferred = new Map(progress.deferred);
    for (const [watchId, ranges] of Map.groupBy(progress.backfills, (range) => range.watchId)) {
      if (!ids.has(watchId)) continue;
      const known = deferred.get(watchId) ?? [];
      deferred.delete(watchId);
      deferred.set(watchId, [...known, ...ranges]);
    }
    return { ...progress, backfills: progress.backfills.filter(({ watchId }) => !ids.has(watchId)), deferred };
  };

/** Ends the deferral of the ranges of these watches. */
export const resumeDeferred =
  (watchIds: readonly string[]): Transition =>
  (progress) => {
    const taken = watchIds.flatMap((id) => progress.deferred.get(id) ?? []);
    if (taken.length === 0) return progress;
    const deferred = new Map(progress.deferred);
    for (const id of watchIds) deferred.delete(id);
    return { ...progress, backfills: [...progress.backfills, ...taken], deferred };
  };

/** Notes that all registrations up to a position have been added. */
export const setWatchesUpTo =
  (position: Position): Transition =>
  (progress) => {
    if (position <= progress.watchesUpTo)
      throw new Error('registrations are added once, in the order of their positions');
    return { ...progress, watchesUpTo: position };
  };

/** Covers blocks `from`…`to` of a watch, whose records are stored. They must be the next ones of one of its ranges. */
export const cover =
  (watchId: string, { from, to }: { from: number; to: number }): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    const isNext = (range: Range) =>
      range.watchId === watchId && range.next === from && to <= lastBlockOf(window, range);
    const at = backfills.findIndex(isNext);
    const range = backfills[at];
    if (!range || to < from)
      throw new Error(`blocks ${String(from)} to ${String(to)} are not the next ones of ${watchId}`);
    const left = { ...range, next: to + 1, to: Math.max(range.to, lastBlockOf(window, range)) };
    const isFinished = !left.joins && left.next > left.to;
    return { ...progress, backfills: isFinished ? backfills.toSpliced(at, 1) : backfills.with(at, left) };
  };

/**
 * Removes a range that has been read up to the window. Its records in `blocksToFinish` are stored. If the range joins,
 * its watch is live from now on.
 */
export const finish =
  (range: Range): Transition =>
  (progress) => {
    const now = findRange(progress, range);
    if (!now || !isCovered(progress, now)) throw new Error(`${range.watchId} has blocks to read before that`);
    return { ...progress, backfills: progress.backfills.filter((one) => one !== now) };
  };

/** The blocks of the window that a range has: their records are stored when the range is finished. */
export const blocksToFinish = ({ window }: ChainProgress, { next, to, joins }: Range): WindowBlock[] =>
  window.slice(1).filter(({ number }) => next <= number && (joins || number <= to));

/** Whether a range has been read up to the window. */
export const isCovered = ({ window }: ChainProgress, range: Range): boolean => range.next > lastBlockOf(window, range);

/** Whether two values differ only in how far their ranges have been read. */
export const hasOnlyCovered = (before: ChainProgress, after: ChainProgress): boolean =>
  before.window === after.window &&
  before.watchesUpTo === after.watchesUpTo &&
  before.deferred === after.deferred &&
  before.backfills.length === after.backfills.length;
