import type { BackfillRange, WindowBlock } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Window } from './window.ts';

/** Blocks of one watch that are still to be read. */
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
 * What was read for the watches of a chain. Of each watch that is everything from its start block to the head, except
 * its ranges.
 */
export interface Coverage {
  /**
   * The ranges that are not read yet. Those of one watch never overlap, and none but a joining one ends after the tip. A joining
   * one is its last, and ends at the window.
   */
  readonly backfills: readonly Range[];
  /** Ranges that are set aside, by watch: they are not read yet either, and have no place in `ChainAdvanced`. */
  readonly aside: ReadonlyMap<string, readonly Range[]>;
  /** Position up to which registrations are taken into account. */
  readonly watchesUpTo: Position;
}

/** The part of a watch that coverage depends on. */
export interface CoveredWatch {
  readonly id: string;
  readonly startBlock: number;
}

/** Finds the range at whose end a watch joins the head. A watch that was added and has none is live. */
export const findJoiningRange = ({ backfills, aside }: Coverage, watchId: string): Range | undefined =>
  backfills.find((range) => range.joins && range.watchId === watchId) ?? aside.get(watchId)?.find(({ joins }) => joins);

/**
 * Joins ranges of a watch that follow one another and differ in nothing: both are gaps or not, and wanted or not. Without that, a caller
 * who moves the start of a watch again and again would make as many ranges.
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

/** What is still to be read of a watch. */
export const rangesOf = ({ backfills, aside }: Coverage, watchId: string): Range[] => [
  ...backfills.filter((range) => range.watchId === watchId),
  ...(aside.get(watchId) ?? []),
];

/** Everything that is still to be read, in no order. */
export function* allRanges({ backfills, aside }: Coverage): Generator<Range> {
  yield* backfills;
  for (const ranges of aside.values()) yield* ranges;
}

/**
 * Returns the watches that are read at the head. Those that fell behind are so up to their range: another block takes the place of
 * one of theirs. Blocks of the window that a range has are read with it.
 * @param watches that were added
 * @param block the number of the block that is read
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

/** Returns the same range as it is now; `undefined` if it is finished. */
export const findRange = ({ backfills }: Coverage, range: Range): Range | undefined =>
  backfills.find((one) => rangeId(one) === rangeId(range));

/** Returns the range from which a watch is read up to the window's final block, and then joins. */
export const newJoiningRange = (window: Window<WindowBlock>, watch: CoveredWatch): Range => ({
  watchId: watch.id,
  from: watch.startBlock,
  next: watch.startBlock,
  to: window[0].number,
  joins: true,
});

/**
 * Returns the last block that is read as part of the range: it is final. A joining range grows as blocks become final; what
 * another one has of the window is read when it is finished.
 */
export const lastBlockOf = (window: Window<WindowBlock>, { joins, to }: Range): number =>
  joins ? Math.max(to, window[0].number) : Math.min(to, window[0].number);
