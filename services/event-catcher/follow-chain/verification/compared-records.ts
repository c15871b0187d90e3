import { isDeepStrictEqual } from 'node:util';
import type { ObservedRecord } from '../../../../schemas/events/chain-events.ts';
import type { BlockHeader } from '../../../../shared/chain/chain-reader.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';

/** How the records of one watch that are stored differ from those that were read again. */
export interface Difference {
  /** Read, and not stored. */
  missing: readonly ObservedRecord[];
  /** Stored, and not read. */
  unread: readonly ObservedRecord[];
  /** Stored with other data than was read, or with another place in the block. */
  changed: readonly Pair[];
  /** Stored as it was read, but perhaps for the time of the block. */
  same: readonly Pair[];
}

interface Pair {
  stored: ObservedRecord;
  read: ObservedRecord;
}

/** Compares records of one watch. Those of one id are of the same log. */
export const compareRecords = (stored: readonly ObservedRecord[], read: readonly ObservedRecord[]): Difference => {
  const readById = new Map(read.map((record) => [record.Id, record]));
  const storedIds = new Set(stored.map(({ Id }) => Id));
  const pairs = stored.flatMap((record): Pair[] => {
    const again = readById.get(record.Id);
    return again ? [{ stored: record, read: again }] : [];
  });
  return {
    missing: read.filter(({ Id }) => !storedIds.has(Id)),
    unread: stored.filter(({ Id }) => !readById.has(Id)),
    changed: pairs.filter((pair) => !isSame(pair)),
    same: pairs.filter(isSame),
  };
};

const isSame = ({ stored, read }: Pair): boolean =>
  stored.TxIndex === read.TxIndex && isDeepStrictEqual(read.Data, stored.Data);

/** Tells which of these were stored with another time than that of their blocks. */
export const mistimed = (
  { same }: Pick<Difference, 'same'>,
  headers: ReadonlyMap<number, Pick<BlockHeader, 'hash' | 'timestamp'>>,
): readonly Pair[] =>
  same.filter(({ stored: { BlockNumber, BlockHash, BlockTime } }) => {
    const header = headers.get(BlockNumber);
    return header?.hash === BlockHash && toIso(header.timestamp * 1_000) !== BlockTime;
  });
