import { isDeepStrictEqual } from 'node:util';
import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import type { BlockHeader } from '../../../../shared/chain/chain-reader.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';

/** The differences between the stored records of one watch and its records as read from the chain a second time. */
export interface Difference {
  /** Records that the second read returned and that are not stored. */
  missing: readonly ObservedRecord[];
  /** Stored records that the second read did not return. */
  unread: readonly ObservedRecord[];
  /** Records whose stored data, or stored transaction index, differs from what the second read returned. */
  changed: readonly Pair[];
  /** Records that are stored just as the second read returned them. Only the block time may differ. */
  same: readonly Pair[];
}

interface Pair {
  stored: ObservedRecord;
  read: ObservedRecord;
}

/** Compares the stored records of one watch with those read again. Records with the same id are of the same log. */
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

/** Returns the records, among the otherwise unchanged ones, whose stored time is not that of their block's header. */
export const mistimed = (
  { same }: Pick<Difference, 'same'>,
  headers: ReadonlyMap<number, Pick<BlockHeader, 'hash' | 'timestamp'>>,
): readonly Pair[] =>
  same.filter(({ stored: { BlockNumber, BlockHash, BlockTime } }) => {
    const header = headers.get(BlockNumber);
    return header?.hash === BlockHash && toIso(header.timestamp * 1_000) !== BlockTime;
  });
