import type { BackfillRange, WindowBlock } from '../../../schemas/events/chain-events.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import type { Window } from './window.ts';

export type Range = Readonly<BackfillRange>;

/** What was read for the watches of a chain: of each, everything from its start to the head but for its ranges. */
export interface Coverage {
  /** What is not covered yet. Ranges of one watch never overlap; a joining one is its last, and has no end but the window. */
  readonly backfills: readonly Range[];
  /** Position up to which registrations are taken into account. */
  readonly watchesUpTo: Position;
}

/** As much of a watch as its coverage depends on. */
export interface CoveredWatch {
  readonly id: string;
  readonly startBlock: number;
}

/** The range at whose end a watch joins the head. One that was taken and has none is live. */
export const findJoiningRange = ({ backfills }: Coverage, watchId: string): Range | undefined =>
  backfills.find((range) => range.joins && range.watchId === watchId);

/** Those of the watches taken that are read at the head. */
export const liveWatches = <Watch extends CoveredWatch>({ backfills }: Coverage, watches: Iterable<Watch>): Watch[] => {
  const joining = new Set(backfills.flatMap(({ joins, watchId }) => (joins ? [watchId] : [])));
  return Array.from(watches).filter(({ id }) => !joining.has(id));
};

/** Names a range for as long as it is unfinished, wherever it begins by now. */
export const rangeId = ({ watchId, joins, to }: Range): string => (joins ? watchId : `${watchId}/${String(to)}`);

/** The same range as it is now; `undefined` when it is finished. */
export const findRange = ({ backfills }: Coverage, range: Range): Range | undefined =>
  backfills.find((one) => one.watchId === range.watchId && rangeId(one) === rangeId(range));

/** A range to the window's final block, and on into the window. */
export const newJoiningRange = (window: Window<WindowBlock>, watch: CoveredWatch): Range => ({
  watchId: watch.id,
  from: watch.startBlock,
  next: watch.startBlock,
  to: window[0].number,
  joins: true,
});

/** Last block that is read as a range: what became final meanwhile belongs to one that joins. */
export const lastBlockOf = (window: Window<WindowBlock>, { joins, to }: Range): number =>
  joins ? Math.max(to, window[0].number) : to;
