import type { WindowBlock } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { withAnchor, type Anchor } from './anchors.ts';
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
} from './coverage.ts';
import {
  splitAfter,
  extend,
  follows,
  tipOf,
  toWindow,
  toWindowBlock,
  type FinalBlock,
  type Header,
  type Window,
} from './window.ts';

/**
 * How far a chain was read. Every record that it says was read is stored, and it accounts for every record that is
 * stored and not reverted. It is an immutable value: only transitions make the next one.
 */
export interface ChainProgress extends Coverage {
  readonly window: Window<WindowBlock>;
  /** Some of the final blocks before the window, oldest first. */
  readonly anchors: readonly Anchor[];
  /** Position of the newest `ChainAdvanced`: what is observed from now on is stored after it. */
  readonly position: Position;
}

/** Returns the next value. Throws if it was made for another value than the one it is applied to. */
export type Transition = (progress: ChainProgress) => ChainProgress;

/** The progress of a chain of which nothing was read yet: it has a window, and no watches. */
export const initialProgress = (headers: Window<Header>, position: Position): ChainProgress => ({
  window: toWindow(headers, position),
  anchors: [],
  backfills: [],
  aside: new Map(),
  watchesUpTo: 0,
  position,
});

/** The chain was replaced by another one: all that was observed is reverted, and its watches are added again. */
export const resetProgress =
  (headers: Window<Header>): Transition =>
  ({ position }) =>
    initialProgress(headers, position);

/** A `ChainAdvanced` with this value was stored at a position. */
export const storedAt =
  (position: Position): Transition =>
  (progress) => ({ ...progress, position });

/** A block follows the tip, and the records that the live watches have in it are stored. */
export const advance =
  (header: Header, final: FinalBlock): Transition =>
  (progress) => {
    if (!follows(progress.window, header)) throw new Error(`block ${header.hash} does not follow the tip`);
    const block = toWindowBlock(header, progress.position);
    return withWindow(progress, extend(progress.window, block, final));
  };

/** The window moves on: the block that was its first one stays known. */
const withWindow = (progress: ChainProgress, window: Window<WindowBlock>): ChainProgress => {
  const [first] = progress.window;
  const { number } = window[0];
  return {
    ...progress,
    window,
    anchors: number > first.number ? withAnchor(progress.anchors, first, number) : progress.anchors,
  };
};

/** The blocks after this one left the chain, and what was observed in them is reverted. */
export const rewind =
  (hash: string): Transition =>
  (progress) => {
    if (!progress.window.some((block) => block.hash === hash)) throw new Error(`block ${hash} is not in the window`);
    const { kept } = splitAfter(progress.window, hash);
    return { ...withRanges(progress, upTo(tipOf(kept).number)), window: kept };
  };

/** What extensions have after a block is dropped: other blocks take the place of theirs, and are read as they come. */
const upTo =
  (last: number) =>
  (range: Range): Range | undefined => {
    if (range.joins || range.to <= last) return range;
    return range.next <= last ? { ...range, to: last } : undefined;
  };

/** Changes ranges, those that are set aside, too, and drops those of which nothing is left. */
const withRanges = (progress: ChainProgress, change: (range: Range) => Range | undefined): ChainProgress => {
  const changed = (ranges: readonly Range[]): readonly Range[] => {
    const after = ranges.flatMap((range) => change(range) ?? []);
    return after.length === ranges.length && after.every((range, at) => range === ranges[at]) ? ranges : after;
  };
  const changedAside = Array.from(progress.aside).filter(([, ranges]) => changed(ranges) !== ranges);
  const backfills = changed(progress.backfills);
  if (changedAside.length === 0) return { ...progress, backfills };
  const aside = new Map(progress.aside);
  for (const [watchId, ranges] of changedAside) aside.set(watchId, changed(ranges));
  return { ...progress, backfills, aside };
};

/**
 * The window moves to a head that is far ahead. The live watches read the blocks after `last` as ranges, and join the
 * head again after that.
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
    // What fell behind after `last` was read in blocks that have left the chain.
    const behind = withRanges(progress, (range) =>
      range.joins ? from(range, Math.max(last + 1, starts.get(range.watchId) ?? 0)) : upTo(last)(range),
    );
    return { ...behind, window, backfills: [...behind.backfills, ...ranges] };
  };

/** The same range, or one that begins at this block, if that is earlier. */
const from = (range: Range, block: number): Range =>
  block < range.next ? { ...range, from: Math.min(range.from, block), next: block } : range;

/** The records of watches in the block after the tip cannot be read. They read it as a range, and join again. */
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

/** A watch is new: everything from its start block is to be read. */
export const addWatch =
  (watch: CoveredWatch, position: Position): Transition =>
  (progress) => {
    const { window, backfills } = progress;
    return setWatchesUpTo(position)({ ...progress, backfills: [...backfills, newJoiningRange(window, watch)] });
  };

/** Nothing more is read for a watch: what follows the tip is a range, which is read when the watch is resumed. */
export const stopWatch =
  (watch: CoveredWatch, position: Position): Transition =>
  (progress) =>
    setWatchesUpTo(position)(fallBehind([watch])(progress));

/**
 * A watch begins earlier. If nothing of it was read yet, its only range begins earlier; otherwise it gets another one, which may
 * end in the window.
 */
export const extendWatch =
  (watch: CoveredWatch, startBlock: number, position: Position): Transition =>
  (before) => {
    const progress = takeUp([watch.id])(before);
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

/** Whether nothing of a watch was read yet. */
const isUnreadRange = ({ from, next }: Range, { startBlock }: CoveredWatch): boolean =>
  from === startBlock && next === startBlock;

/** The ranges of watches are set aside: they are kept, and not read until they are taken up. */
export const setAside =
  (watchIds: readonly string[]): Transition =>
  (progress) => {
    const ids = new Set(watchIds);
    const aside = new Map(progress.aside);
    for (const [watchId, ranges] of Map.groupBy(progress.backfills, (range) => range.watchId)) {
      if (!ids.has(watchId)) continue;
      const known = aside.get(watchId) ?? [];
      aside.delete(watchId);
      aside.set(watchId, [...known, ...ranges]);
    }
    return { ...progress, backfills: progress.backfills.filter(({ watchId }) => !ids.has(watchId)), aside };
  };

/** The ranges of watches that were set aside are read from now on. */
export const takeUp =
  (watchIds: readonly string[]): Transition =>
  (progress) => {
    const taken = watchIds.flatMap((id) => progress.aside.get(id) ?? []);
    if (taken.length === 0) return progress;
    const aside = new Map(progress.aside);
    for (const id of watchIds) aside.delete(id);
    return { ...progress, backfills: [...progress.backfills, ...taken], aside };
  };

/** Every registration up to a position was taken into account. */
export const setWatchesUpTo =
  (position: Position): Transition =>
  (progress) => {
    if (position <= progress.watchesUpTo)
      throw new Error('registrations are added once, in the order of their positions');
    return { ...progress, watchesUpTo: position };
  };

/** The records of a watch in blocks `from`…`to`, which are the next of one of its ranges, are stored. */
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
 * A range that has been read up to the window is finished, and its records in `blocksToFinish` are stored. If it joins, its watch
 * goes live.
 */
export const finish =
  (range: Range): Transition =>
  (progress) => {
    const now = findRange(progress, range);
    if (!now || !isCovered(progress, now)) throw new Error(`${range.watchId} has blocks to read before that`);
    return { ...progress, backfills: progress.backfills.filter((one) => one !== now) };
  };

/** The blocks of the window whose records are stored when a range is finished. */
export const blocksToFinish = ({ window }: ChainProgress, { next, to, joins }: Range): WindowBlock[] =>
  window.slice(1).filter(({ number }) => next <= number && (joins || number <= to));

/** Whether a range has been read up to the window. */
export const isCovered = ({ window }: ChainProgress, range: Range): boolean => range.next > lastBlockOf(window, range);

/** Whether two values differ only in how far their ranges have been read. */
export const hasOnlyCovered = (before: ChainProgress, after: ChainProgress): boolean =>
  before.window === after.window &&
  before.watchesUpTo === after.watchesUpTo &&
  before.aside === after.aside &&
  before.backfills.length === after.backfills.length;
