import type { BackfillRange, WindowBlock } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { Position } from '../../../../shared/event-store/event-store.ts';
import type { Window } from '../../../../shared/chain/window.ts';

/** Unread blocks of one watch. */
export interface Range extends Readonly<Omit<BackfillRange, 'watchIds'>> {
  readonly watchId: string;
}

/** The part of a watch that tells which blocks somebody wants. */
interface WantedWatch {
  readonly wantedFrom: number;
}

/** Whether nobody wants any block of a range. */
export const isUnwanted = ({ joins, to }: Range, { wantedFrom }: WantedWatch): boolean => !joins && to < wantedFrom;

/** Whether a range is left unread for now: no provider gives its blocks, or nobody wants them. */
export const isGapOrUnwanted = (range: Range, watch: WantedWatch): boolean =>
  range.gap !== undefined || isUnwanted(range, watch);

/**
 * What has been read for the watches of a chain: of each watch, all blocks from its start block to the head, except its
 * ranges.
 */
export interface Coverage {
  /**
   * The unread ranges that `ChainAdvanced` lists. Ranges of one watch never overlap. A joining range is the last one of
   * its watch and ends at the window; every other range ends at the tip or before.
   */
  readonly backfills: readonly Range[];
  /** Unread ranges that are deferred, by watch: `ChainAdvanced` does not list them. */
  readonly deferred: ReadonlyMap<string, readonly Range[]>;
  /** Position up to which registrations have been added. */
  readonly watchesUpTo: Position;
}

/** The part of a watch that coverage depends on. */
export interface CoveredWatch {
  readonly id: string;
  readonly startBlock: number;
}

/** Finds the range at whose end a watch joins the head. A watch without one is live, if it was added. */
export const findJoiningRange = ({ backfills, deferred }: Coverage, watchId: string): Range | undefined =>
  backfills.find((range) => range.joins && range.watchId === watchId) ??
  deferred.get(watchId)?.find(({ joins }) => joins);

/**
 * Merges adjacent ranges of a watch if both are gaps or neither is, and both are wanted or neither is. Without this, a
 * caller who moves the start block again and again would create as many ranges.
 */
export const joinNeighbours = (
  backfills: readonly Range[],
  { id, wantedFrom }: { id: string } & WantedWatch,
): readonly Range[] => {
  const theirs = backfills.filter(({ watchId, joins }) => watchId === id && !joins);
  const joined: Range[] = [];
  for (const range of theirs.toSorted((left, right) => left.next - right.next)) {
    const before = joined.at(-1);
    const areAlike =
      before?.to === range.next - 1 &&
      (before.gap === undefined) === (range.gap === undefined) &&
      isUnwanted(before, { wantedFrom }) === isUnwanted(range, { wantedFrom });
    if (before && areAlike) joined[joined.length - 1] = { ...before, to: range.to };
    else joined.push(range);
  }
  if (joined.length === theirs.length) return backfills;
  return [...joined, ...backfills.filter((range) => !theirs.includes(range))];
};

/** The unread ranges of a watch, deferred or not. */
export const rangesOf = ({ backfills, deferred }: Coverage, watchId: string): Range[] => [
  ...backfills.filter((range) => range.watchId === watchId),
  ...(deferred.get(watchId) ?? []),
];

/** All unread ranges, deferred or not, in no order. */
export function* allRanges({ backfills, deferred }: Coverage): Generator<Range> {
  yield* backfills;
  for (const ranges of deferred.values()) yield* ranges;
}

/**
 * Returns the watches that are read at the head. A watch that fell behind still counts for blocks before its range,
 * because a reorganisation may replace one of those. The blocks that a range has in the window are read with the range.
 * @param watches that were added
 * @param block the number of the block to be read
 */
export const liveWatches = <Watch extends CoveredWatch>(
  coverage: Coverage,
  watches: Iterable<Watch>,
  block = Infinity,
): Watch[] => {
  const behind = new Set<string>();
  for (const { watchId, joins, next, to } of allRanges(coverage))
    if (next <= block && (joins || block <= to)) behind.add(watchId);
  return Array.from(watches).filter(({ id }) => !behind.has(id));
};

/** Identifies a range until it is finished, however far it has been read. */
export const rangeId = ({ watchId, joins, to }: Range): string => (joins ? watchId : `${watchId}/${String(to)}`);

/** Returns the current state of a range; `undefined` if it is finished. */
export const findRange = ({ backfills }: Coverage, range: Range): Range | undefined =>
  backfills.find((one) => rangeId(one) === rangeId(range));

/** Returns the first range of a watch: it reads up to the window's final block, and then joins the head. */
export const newJoiningRange = (window: Window<WindowBlock>, watch: CoveredWatch): Range => ({
  watchId: watch.id,
  from: watch.startBlock,
  next: watch.startBlock,
  to: window[0].number,
  joins: true,
});

/**
 * Returns the last final block of a range. A joining range grows as blocks become final. What any other range has in
 * the window is read when the range is finished.
 */
export const lastBlockOf = (window: Window<WindowBlock>, { joins, to }: Range): number =>
  joins ? Math.max(to, window[0].number) : Math.min(to, window[0].number);
