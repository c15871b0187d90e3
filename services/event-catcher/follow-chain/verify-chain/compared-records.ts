import { isDeepStrictEqual } from 'node:util';
import type { ObservedRecord } from '../../../../schemas/events/chain-events.ts';

/** How the records of one watch that are stored differ from those that were read again. */
export interface Difference {
  /** Read, and not stored. */
  missing: readonly ObservedRecord[];
  /** Stored, and not read. */
  unread: readonly ObservedRecord[];
  /** Stored with other data than was read. */
  changed: readonly { stored: ObservedRecord; read: ObservedRecord }[];
}

/** Compares records of one watch. Those of one id are of the same log. */
export const compareRecords = (stored: readonly ObservedRecord[], read: readonly ObservedRecord[]): Difference => {
  const readById = new Map(read.map((record) => [record.Id, record]));
  const storedIds = new Set(stored.map(({ Id }) => Id));
  return {
    missing: read.filter(({ Id }) => !storedIds.has(Id)),
    unread: stored.filter(({ Id }) => !readById.has(Id)),
    changed: stored.flatMap((record) => {
      const again = readById.get(record.Id);
      return again && !isDeepStrictEqual(again.Data, record.Data) ? [{ stored: record, read: again }] : [];
    }),
  };
};
