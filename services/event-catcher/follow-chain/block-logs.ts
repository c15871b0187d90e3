import type { EventOrigin, ObservedRecord, WindowBlock } from '../../../schemas/events/chain-events.ts';
import { BLOOM_OF_EVERYTHING } from '../../../shared/chain/bloom.ts';
import {
  ChainUnavailable,
  RangeTooLarge,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
} from '../../../shared/chain/chain-reader.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { RecordChanges } from './store-changes/chain-records.ts';
import { filterFor, belongsTo, matcherFor, filterByBloom, recordOf, type WatchedEvent } from './watched-event.ts';

/** The records that were read, and a test for all records that this reading would have found. */
export type ReadRecords = Required<Pick<RecordChanges, 'observed' | 'isRead'>>;

/** Reads the records of the watches in one block: with no call if its bloom rules all of them out, else with one. */
export const readBlock = async (
  reader: ChainReader,
  header: BlockHeader,
  watches: readonly WatchedEvent[],
): Promise<ReadRecords> => ({
  observed: await recordsOfBlock(reader, header, watches, 'live'),
  isRead: (record) => record.BlockHash === header.hash && watches.some((watch) => belongsTo(watch, record)),
});

/** Reads the records of one watch in blocks that may be reorganised. */
export const readWindow = async (
  reader: ChainReader,
  blocks: readonly WindowBlock[],
  watch: WatchedEvent,
): Promise<ReadRecords> => {
  const headers = await reader.headersByNumber(blocks.map(({ number }) => number));
  const records = await Promise.all(
    blocks.map((block, at) => {
      // If the chain has another block of this number by now, that block's bloom says nothing about ours.
      const header = headers[at]?.hash === block.hash ? headers[at] : { ...block, logsBloom: BLOOM_OF_EVERYTHING };
      return recordsOfBlock(reader, header, [watch], 'backfill');
    }),
  );
  const hashes = new Set(blocks.map(({ hash }) => hash));
  return { observed: records.flat(), isRead: (record) => hashes.has(record.BlockHash) && belongsTo(watch, record) };
};

const recordsOfBlock = async (
  reader: ChainReader,
  header: BlockHeader,
  watches: readonly WatchedEvent[],
  origin: EventOrigin,
): Promise<ObservedRecord[]> => {
  const possible = filterByBloom(header, watches);
  if (possible.length === 0) return [];
  const logs = await reader.logsOfBlock(header, filterFor(possible));
  return toRecords(logs, possible, () => header.timestamp, origin);
};

/** Reads the records of one watch in blocks `from`…`to`, in chain order. @throws RangeTooLarge */
export const recordsOfRange = async (
  reader: ChainReader,
  watch: WatchedEvent,
  { from, to }: { from: number; to: number },
): Promise<ObservedRecord[]> => {
  const logs = await logsOfRange(reader, watch, from, to);
  const untimed = new Set(
    logs.filter(({ blockTimestamp }) => blockTimestamp === undefined).map(({ blockNumber }) => blockNumber),
  );
  const times = new Map<number, number>();
  for (const header of await reader.headersByNumber([...untimed])) {
    if (!header) throw new ChainUnavailable('a provider has logs of a block it does not have');
    times.set(header.number, header.timestamp);
  }
  const timeOf = ({ blockTimestamp, blockNumber }: ChainLog) => blockTimestamp ?? times.get(blockNumber) ?? 0;
  return toRecords(logs, [watch], timeOf, 'backfill');
};

/** Requests a single block by its hash if a provider refuses it as a range. */
const logsOfRange = async (reader: ChainReader, watch: WatchedEvent, from: number, to: number): Promise<ChainLog[]> => {
  const filter = filterFor([watch]);
  try {
    return await reader.logsOfRange(from, to, filter);
  } catch (error) {
    if (!(error instanceof RangeTooLarge) || from < to) throw error;
    const [header] = await reader.headersByNumber([from]);
    if (!header) throw new ChainUnavailable(`block ${String(from)} is not there`, { cause: error });
    return reader.logsOfBlock(header, filter);
  }
};

const toRecords = (
  logs: readonly ChainLog[],
  watches: readonly WatchedEvent[],
  timeOf: (log: ChainLog) => number,
  origin: EventOrigin,
): ObservedRecord[] => {
  const match = matcherFor(watches);
  const records: ObservedRecord[] = [];
  let block = -1;
  let blockTime = '';
  for (const log of logs) {
    const matching = match(log);
    if (matching.length === 0) continue;
    if (log.blockNumber !== block) blockTime = toIso(timeOf(log) * 1_000);
    block = log.blockNumber;
    for (const watch of matching) records.push(recordOf(watch, log, blockTime, origin));
  }
  return records;
};
