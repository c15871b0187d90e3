import type { EventOrigin, ObservedRecord, WindowBlock } from '../../../schemas/events/chain-events.ts';
import { BLOOM_OF_EVERYTHING } from '../../../shared/chain/bloom.ts';
import {
  ChainUnavailable,
  RangeTooLarge,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
} from '../../../shared/chain/chain-reader.ts';
import { toIso } from '../../../shared/primitives/clock.ts';
import type { RecordChanges } from './store-changes/chain-records.ts';
import { filterFor, belongsTo, matcherFor, filterByBloom, recordOf, type WatchedEvent } from './watched-event.ts';

/** The records that were read, and a test for all records that this reading would have found. */
export type ReadRecords = Required<Pick<RecordChanges, 'observed' | 'isRead'>>;

/** Roughly what a record takes beside its log's data. */
const RECORD_BYTES = 500;
/** How often the watches of a block are halved, to find those whose logs a provider refuses. */
const HALVED_MOST = 3;
/** How many blocks of a window are requested at a time. */
const BLOCKS_AT_ONCE = 32;

/** The records that were read of a block, and the watches whose records no provider gives. */
export interface BlockRead extends ReadRecords {
  refused: readonly WatchedEvent[];
  /** Those of them that were asked for alone: it is known that they are at fault. */
  atFault: readonly WatchedEvent[];
  /** Whether its bloom ruled all of them out. */
  isRuledOut: boolean;
}

/**
 * Reads the records of the watches in one block: with no call if its bloom rules all of them out, else with one. If that fails
 * though a provider answers, the watches are read in parts.
 */
export const readBlock = async (
  reader: ChainReader,
  header: BlockHeader,
  watches: readonly WatchedEvent[],
): Promise<BlockRead> => {
  const possible = filterByBloom(header, watches);
  const isRuledOut = possible.length === 0;
  const parts = isRuledOut ? [] : await readParts({ reader, header, chosenFrom: watches.length }, possible);
  const refusedParts = parts.flatMap((part) => (part.records ? [] : [part.watches]));
  const refused = refusedParts.flat();
  const read = watches.filter((watch) => !refused.includes(watch));
  return {
    observed: parts.flatMap(({ records = [] }) => records).sort((left, right) => left.LogIndex - right.LogIndex),
    isRead: (record) => record.BlockHash === header.hash && read.some((watch) => belongsTo(watch, record)),
    refused,
    atFault: refusedParts.filter(({ length }) => length === 1).flat(),
    isRuledOut,
  };
};

interface Part {
  watches: readonly WatchedEvent[];
  /** `undefined` if they cannot be read. */
  records?: ObservedRecord[];
}

interface BlockToRead {
  reader: ChainReader;
  header: BlockHeader;
  /** How many watches the bloom was asked about. */
  chosenFrom: number;
}

const readParts = async (block: BlockToRead, watches: readonly WatchedEvent[], halved = 0): Promise<Part[]> => {
  const { reader, header, chosenFrom } = block;
  try {
    return [{ watches, records: await recordsOfBlock(reader, header, watches, 'live', chosenFrom) }];
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    if (halved === 0 && !(await isStillThere(reader, header))) throw error;
    if (halved === HALVED_MOST || watches.length === 1) return [{ watches }];
    const middle = Math.ceil(watches.length / 2);
    const first = await readParts(block, watches.slice(0, middle), halved + 1);
    return [...first, ...(await readParts(block, watches.slice(middle), halved + 1))];
  }
};

/** @throws ChainUnavailable if no provider answers, so that it is nobody's fault */
const isStillThere = async (reader: ChainReader, { number, hash }: BlockHeader): Promise<boolean> =>
  (await reader.headersByNumber([number]))[0]?.hash === hash;

/** Reads the records of watches in blocks that may be reorganised, by the hashes of the blocks. */
export const readWindow = async (
  reader: ChainReader,
  blocks: readonly WindowBlock[],
  watches: readonly WatchedEvent[],
): Promise<Map<string, ObservedRecord[]>> => {
  const headers = await reader.headersByNumber(blocks.map(({ number }) => number));
  const read = new Map<string, ObservedRecord[]>();
  for (let at = 0; at < blocks.length; at += BLOCKS_AT_ONCE) {
    await Promise.all(
      blocks.slice(at, at + BLOCKS_AT_ONCE).map(async (block, index) => {
        const found = headers[at + index];
        // If the chain has another block of this number by now, that block's bloom says nothing about ours.
        const header = found?.hash === block.hash ? found : { ...block, logsBloom: BLOOM_OF_EVERYTHING };
        read.set(block.hash, await recordsOfBlock(reader, header, watches, 'backfill'));
      }),
    );
  }
  return read;
};

/** What was read in these blocks for these watches. */
export const readIn = (
  blocks: readonly WindowBlock[],
  watches: readonly WatchedEvent[],
  records: ReadonlyMap<string, readonly ObservedRecord[]>,
): ReadRecords => {
  const hashes = new Set(blocks.map(({ hash }) => hash));
  const isTheirs = (record: ObservedRecord) => watches.some((watch) => belongsTo(watch, record));
  return {
    observed: blocks.flatMap(({ hash }) => records.get(hash) ?? []).filter(isTheirs),
    isRead: (record) => hashes.has(record.BlockHash) && isTheirs(record),
  };
};

/** @param chosenFrom how many watches the bloom may have left out already, with these */
const recordsOfBlock = async (
  reader: ChainReader,
  header: BlockHeader,
  watches: readonly WatchedEvent[],
  origin: EventOrigin,
  chosenFrom = watches.length,
): Promise<ObservedRecord[]> => {
  const possible = filterByBloom(header, watches);
  if (possible.length === 0) return [];
  const logs = await reader.logsOfBlock(header, filterFor(possible), { chosenFrom });
  return toRecords(logs, possible, () => header.timestamp, origin);
};

/** Reads the records of watches in blocks `from`…`to`, in chain order, and about how many bytes they have. @throws RangeTooLarge */
export const recordsOfRange = async (
  reader: ChainReader,
  watches: readonly WatchedEvent[],
  { from, to }: { from: number; to: number },
): Promise<{ records: ObservedRecord[]; bytes: number }> => {
  const logs = await logsOfRange(reader, filterFor(watches), from, to);
  const untimed = new Set(
    logs.filter(({ blockTimestamp }) => blockTimestamp === undefined).map(({ blockNumber }) => blockNumber),
  );
  const times = new Map<number, number>();
  for (const header of await reader.headersByNumber([...untimed])) {
    if (!header) throw new ChainUnavailable('a provider has logs of a block it does not have');
    times.set(header.number, header.timestamp);
  }
  const timeOf = ({ blockTimestamp, blockNumber }: ChainLog) => blockTimestamp ?? times.get(blockNumber) ?? 0;
  const records = toRecords(logs, watches, timeOf, 'backfill');
  const bytes = logs.reduce((sum, { data }) => sum + data.length, records.length * RECORD_BYTES);
  return { records, bytes };
};

/** Requests a single block by its hash if a provider refuses it as a range. */
const logsOfRange = async (reader: ChainReader, filter: LogFilter, from: number, to: number): Promise<ChainLog[]> => {
  try {
    return await reader.logsOfRange(from, to, filter);
  } catch (error) {
    if (!(error instanceof RangeTooLarge) || from < to) throw error;
    const [header] = await reader.headersByNumber([from]);
    if (!header) throw new ChainUnavailable(`block ${String(from)} is not there`, { cause: error });
    return reader.logsOfBlock(header, filter);
  }
};

/** @param timeOf Unix seconds */
export const toRecords = (
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
    const matching = match(log).filter(({ startBlock }) => startBlock <= log.blockNumber);
    if (matching.length === 0) continue;
    if (log.blockNumber !== block) blockTime = toIso(timeOf(log) * 1_000);
    block = log.blockNumber;
    for (const watch of matching) records.push(recordOf(watch, log, blockTime, origin));
  }
  return records;
};
