import { historyModel } from '../../../../shared/read-models/account/history.ts';
import { CLOCKS_DIFFER_MS, toIso } from '../../../../shared/primitives/clock.ts';
import type { Filter, ReadStore } from '../../../../shared/read-store/read-store.ts';

/** Later years have more digits, and would sort before all others. */
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');
const { item } = historyModel.collections;

/** Sequence numbers, exclusive. */
export interface SequenceRange {
  after: number;
  before: number;
}

/** Inclusive times. */
export interface TimeRange {
  from?: string | undefined;
  to?: string | undefined;
}

/**
 * Returns the sequence numbers between which the items of a time range lie. Items are read by these, so that
 * a page takes no longer however many items lie before or after the range.
 */
export const sequencesOf = async (
  readStore: Pick<ReadStore, 'find'>,
  userId: string,
  { from, to }: TimeRange,
): Promise<SequenceRange> => {
  const sequence = async (time: Filter[string], direction: 'asc' | 'desc'): Promise<number | undefined> => {
    const [found] = await readStore.find(item.name, {
      ...{ filter: { userId, time }, limit: 1 },
      sort: [
        ['time', direction],
        ['sequence', direction],
      ],
    });
    return found && Number(found.document['sequence']);
  };
  const earlier = from === undefined ? undefined : await sequence({ lt: storedTime(from, -CLOCKS_DIFFER_MS) }, 'desc');
  const later = to === undefined ? undefined : await sequence({ gt: storedTime(to, CLOCKS_DIFFER_MS) }, 'asc');
  return { after: earlier ?? -1, before: later ?? Infinity };
};

/** The filter for the items of a time range. */
export const timeFilter = ({ from, to }: TimeRange): Filter => {
  if (from === undefined && to === undefined) return {};
  return {
    time: { ...(from !== undefined && { gte: storedTime(from) }), ...(to !== undefined && { lte: storedTime(to) }) },
  };
};

/** Returns a time in the form of stored ones, which have milliseconds and are of UTC. */
const storedTime = (text: string, laterMs = 0): string => toIso(Math.min(Date.parse(text) + laterMs, LATEST_MS));
