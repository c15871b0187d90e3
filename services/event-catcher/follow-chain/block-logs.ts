import type { EventOrigin, ObservedRecord, WindowBlock } from '../../../schemas/events/event-catcher/chain-events.ts';
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
import type { RecordChanges } from './stored-changes/chain-records.ts';
import {
  filterFor,
  belongsTo,
  matcherFor,
  filterByBloom,
  recordOf,
  type WatchedEvent,
} from './watches/watched-event.ts';

/**
 * `observed`: the records (decoded logs) that were read. `isRead`: whether a record belongs to the blocks and watches
 * that were read.
 */
export type ReadRecords = Required<Pick<RecordChanges, 'observed' | 'isRead'>>;

/** Approximate size in memory of a record, which is a decoded log, without the log's data. */
const RECORD_BYTES = 500;
/**
 * If a provider refuses a block's logs, the watches are split in halves up to this many times to find those at fault.
 */
const HALVED_MOST = 3;
/** How many recent blocks, which may still be reorganised, have their logs requested at a time. */
const BLOCKS_AT_ONCE = 32;

/** The result of reading one block: the records found, and the watches whose logs no provider returns. */
export interface BlockRead extends ReadRecords {
  refused: readonly WatchedEvent[];
  /** The refused watches that were requested alone, so that no other watch can be the cause. */
  atFault: readonly WatchedEvent[];
  /** Whether the block's bloom filter rules out logs of every watch, so that no logs were requested. */
  isRuledOut: boolean;
}

/**
 * Reads the records of watches in one block: with one call, or with none if the block's bloom rules all watches out. If
 * the call fails although a provider still has the block, requests the watches in halves to find those at fault.
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
  /** `undefined` if no provider returns the logs of `watches`. */
  records?: ObservedRecord[];
}

interface BlockToRead {
  reader: ChainReader;
  header: BlockHeader;
  /** How many watches were compared with the block's bloom: the more there are, the likelier is a match by chance. */
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

/** Whether the block is still on the chain. @throws ChainUnavailable if no provider answers: then no watch is blamed */
const isStillThere = async (reader: ChainReader, { number, hash }: BlockHeader): Promise<boolean> =>
  (await reader.headersByNumber([number]))[0]?.hash === hash;

/** Reads the records of watches in blocks that may still be reorganised. Returns the records by block hash. */
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
        // After a reorganisation `found` is a different block, and its bloom says nothing about the logs of `block`.
        const header = found?.hash === block.hash ? found : { ...block, logsBloom: BLOOM_OF_EVERYTHING };
        read.set(block.hash, await recordsOfBlock(reader, header, watches, 'backfill'));
      }),
    );
  }
  return read;
};

/** Selects the records of the given watches in the given blocks. @param records all that were read, by block hash */
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

/**
 * Reads the records of watches in one block. Requests nothing if the block's bloom rules all watches out.
 * @param chosenFrom how many watches were compared with the bloom, if more than `watches`
 */
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

/**
 * Reads the records of watches in blocks `from`…`to`, inclusive. Returns the records in chain order, and their
 * approximate size.
 * @throws RangeTooLarge, ChainUnavailable
 */
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

/**
 * Reads the logs of blocks `from`…`to`. If a single block counts as too large a range, requests that block by its hash.
 */
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

/**
 * Decodes each log into one record for each watch that it matches.
 * @param timeOf returns the time of the log's block in Unix seconds
 */
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
