import type { ObservedRecord } from '../../../../schemas/events/event-catcher/chain-events.ts';
import {
  ChainUnavailable,
  RangeTooLarge,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
  type ReceiptLogs,
} from '../../../../shared/chain/chain-reader.ts';
import type { BlockRange } from '../../../../shared/chain/client/refusals/suggested-range.ts';
import { inChainOrder, passes } from '../../../../shared/chain/log-filter.ts';
import { toIso } from '../../../../shared/primitives/clock.ts';
import { toRecords } from '../block-logs.ts';
import { filterFor, type WatchedEvent } from '../watches/watched-event.ts';
import { compareRecords, mistimed, type Difference } from './compared-records.ts';
import { BLOOMS_AT_ONCE, logsByBlooms, type HasRecords } from './logs-by-blooms.ts';

/**
 * The most blocks per comparison whose receipts are read to settle differences. With more, a smaller range is compared.
 */
const EXPLAINED_MAX = 20;

/** Stored records (decoded logs) by the id of their watch. */
export type Stored = ReadonlyMap<string, readonly ObservedRecord[]>;

export interface Compared {
  missing: readonly ObservedRecord[];
  /** Stored records to revert: their logs are not on the chain, or differ from what is stored. */
  wrong: readonly ObservedRecord[];
  /** Number of stored records that the endpoints omit or return differently, though nothing proves them wrong. */
  unproven: number;
  /** Number of records that were read, or number of stored records, whichever is larger. */
  events: number;
  /** Approximate number of RPC calls that the comparison made. */
  calls: number;
  /** How many RPC endpoints answered the request for logs: one or two. */
  endpoints: number;
}

/**
 * Reads the logs of final blocks a second time, and compares them with the stored records. A log that is not stored as
 * a record is missing if any endpoint returns it and its block is on the chain. A stored record is wrong if its block
 * is not on the chain, or if the block's receipts do not contain its log. An endpoint that does not return a log proves
 * nothing: endpoints may withhold logs.
 * @throws ChainUnavailable, RangeTooLarge
 */
export const compareRange = async (
  reader: ChainReader,
  watches: readonly WatchedEvent[],
  { from, to }: BlockRange,
  storedOf: () => Promise<Stored>,
): Promise<Compared> => {
  const filter = filterFor(watches);
  const again = await reader.crossCheckedLogs(from, to, filter);
  if (again.endpoints === 1 && reader.usesBlooms && to - from >= BLOOMS_AT_ONCE) {
    throw new RangeTooLarge('one provider answers, and its blooms are compared', smaller(BLOOMS_AT_ONCE));
  }
  const stored = await storedOf();
  let logs: readonly ChainLog[] = again.logs;
  let read = compareLogs(watches, logs, stored, from);
  let calls = 2 * again.endpoints;
  let known: readonly BlockHeader[] = [];
  let cut: number[] = [];
  if (again.endpoints === 1 && reader.usesBlooms) {
    const withheld = await logsByBlooms(reader, watches, { from, to }, hasRecords(read.records, stored));
    logs = [...logs, ...withheld.logs].sort(inChainOrder);
    if (withheld.logs.length > 0) read = compareLogs(watches, logs, stored, from);
    known = withheld.headers;
    cut = perhapsCut(again.logs, withheld.logs);
    calls += withheld.calls;
  }
  // If only one endpoint answered, also checks the block hashes of its logs: it may repeat a wrong hash that was stored
  // from its first answer. Two endpoints agree on a wrong hash only if both have the same fault, which the comparison of
  // some blocks of each answer finds if the fault is not rare (decision 0084).
  const ofOne = again.endpoints === 1 ? again.logs : [];
  const named = await headersOf(
    reader,
    known,
    ofOne.map(({ blockNumber }) => blockNumber),
  );
  const misnamed = ofOne.filter(({ blockNumber, blockHash }) => headerAt(named, blockNumber).hash !== blockHash);
  const unexplained = new Set([
    ...again.disputed,
    ...misnamed.map(({ blockNumber }) => blockNumber),
    ...cut,
    ...read.differences.flatMap(blocksUnexplained),
  ]);
  if (unexplained.size > EXPLAINED_MAX) {
    throw new RangeTooLarge(`${String(unexplained.size)} blocks differ`, smaller(Math.ceil((to - from) / 2)));
  }
  const missing = read.differences.flatMap((difference) => difference.missing);
  const headers = await headersOf(
    reader,
    [...named.values()],
    [...unexplained, ...missing.map(({ BlockNumber }) => BlockNumber), ...read.differences.flatMap(blocksToTime)],
  );
  const receipts = await receiptsOf(reader, headers, unexplained);
  const lost = misnamed.find((log) => !hasLog(receipts, log));
  if (lost) throw elsewhere(lost.blockNumber);
  if (receipts.size > 0) {
    logs = explainedBy(receipts, headers, logs, filter);
    read = compareLogs(watches, logs, stored, from);
  }
  compareWithBlooms(reader, headers, logs);
  calls += headers.size - known.length + 2 * unexplained.size;
  const storedRecords = Array.from(stored.values()).reduce((sum, { length }) => sum + length, 0);
  const events = Math.max(read.records.length, storedRecords);
  return { ...judge(read.differences, headers, receipts), events, calls, endpoints: again.endpoints };
};

/** Suggests comparing fewer blocks. `logsMax: Infinity` tells the caller that no provider's limit is the reason. */
const smaller = (blocks: number) => ({ blocks, logsMax: Infinity });

interface Read {
  records: readonly ObservedRecord[];
  /** One difference for each watch, in the order of the watches. */
  differences: readonly Difference[];
}

const compareLogs = (
  watches: readonly WatchedEvent[],
  logs: readonly ChainLog[],
  stored: Stored,
  from: number,
): Read => {
  // Logs may lack the time of their block. Headers later give missing records their time, and show wrong stored times.
  const records = toRecords(logs, watches, ({ blockTimestamp }) => blockTimestamp ?? 0, 'replay');
  const byWatch = Map.groupBy(records, ({ WatchId }) => WatchId);
  const differences = watches.map(({ id, startBlock }) => {
    const first = Math.max(from, startBlock);
    const ofWatch = (stored.get(id) ?? []).filter(({ BlockNumber }) => BlockNumber >= first);
    return compareRecords(ofWatch, byWatch.get(id) ?? []);
  });
  return { records, differences };
};

const hasRecords = (records: readonly ObservedRecord[], stored: Stored): HasRecords => {
  const nameOf = (watchId: string | undefined, block: number) => `${String(watchId)}/${String(block)}`;
  const read = records.map(({ WatchId, BlockNumber }) => nameOf(WatchId, BlockNumber));
  const kept = Array.from(stored, ([id, ofWatch]) => ofWatch.map(({ BlockNumber }) => nameOf(id, BlockNumber)));
  const names = new Set([...read, ...kept.flat()]);
  return (watchId, block) => names.has(nameOf(watchId, block));
};

/**
 * Returns the blocks at the ends of an endpoint's answer that may be incomplete. If logs were withheld after the
 * answer's last block, or before its first, the answer may have been cut within that block.
 */
const perhapsCut = (answer: readonly ChainLog[], withheld: readonly ChainLog[]): number[] => {
  const [first = Infinity, last = -Infinity] = [answer[0]?.blockNumber, answer.at(-1)?.blockNumber];
  const isBehind = withheld.some(({ blockNumber }) => blockNumber > last);
  const isBefore = withheld.some(({ blockNumber }) => blockNumber < first);
  return answer.length === 0 ? [] : [...(isBefore ? [first] : []), ...(isBehind ? [last] : [])];
};

const blocksUnexplained = ({ unread, changed }: Difference): number[] => [
  ...unread.map(({ BlockNumber }) => BlockNumber),
  ...changed.map(({ stored }) => stored.BlockNumber),
];

/**
 * Returns the blocks whose headers tell if a stored time is wrong: the log read again has no time, or a different one.
 */
const blocksToTime = ({ same }: Difference): number[] =>
  same.filter(({ stored, read }) => stored.BlockTime !== read.BlockTime).map(({ stored }) => stored.BlockNumber);

const receiptsOf = async (
  reader: ChainReader,
  headers: Headers,
  numbers: Iterable<number>,
): Promise<Map<number, ReceiptLogs>> => {
  const receipts = new Map<number, ReceiptLogs>();
  for (const number of numbers) receipts.set(number, await reader.receiptsOfBlock(headerAt(headers, number)));
  return receipts;
};

const hasLog = (receipts: ReadonlyMap<number, ReceiptLogs>, { blockNumber, txHash, logIndex }: ChainLog): boolean =>
  receipts.get(blockNumber)?.logs.some((log) => log.txHash === txHash && log.logIndex === logIndex) === true;

/**
 * For blocks whose receipts were read, replaces the logs that endpoints returned by those of the receipts. Keeps a log
 * whose transaction has no receipt.
 */
const explainedBy = (
  receipts: ReadonlyMap<number, ReceiptLogs>,
  headers: Headers,
  logs: readonly ChainLog[],
  filter: LogFilter,
): ChainLog[] => {
  const isLeft = ({ blockNumber, blockHash, txHash }: ChainLog) => {
    const explained = receipts.get(blockNumber);
    return !explained || (headers.get(blockNumber)?.hash === blockHash && !explained.txHashes.has(txHash));
  };
  const fromReceipts = Array.from(receipts.values(), (one) => one.logs.filter((log) => passes(log, filter)));
  return [...logs.filter(isLeft), ...fromReceipts.flat()].sort(inChainOrder);
};

/**
 * Decides which records are missing, wrong or unproven.
 * @param receipts of the blocks with differences that need them, by block number
 */
const judge = (
  differences: readonly Difference[],
  headers: Headers,
  receipts: ReadonlyMap<number, ReceiptLogs>,
): Pick<Compared, 'missing' | 'wrong' | 'unproven'> => {
  const isProven = ({ BlockNumber, TxHash }: ObservedRecord) =>
    receipts.get(BlockNumber)?.txHashes.has(TxHash) === true;
  const isElsewhere = ({ BlockNumber, BlockHash }: ObservedRecord) => headerAt(headers, BlockNumber).hash !== BlockHash;
  const unread = differences.flatMap((difference) => difference.unread);
  const changed = differences.flatMap((difference) => difference.changed);
  const wrong = unread.filter((record) => isElsewhere(record) || isProven(record));
  const corrected = changed.filter(({ read }) => isProven(read));
  const otherTimes = differences.flatMap((difference) => mistimed(difference, headers));
  const replaced = [...corrected, ...otherTimes];
  const missing = [...differences.flatMap((one) => one.missing), ...replaced.map(({ read }) => read)];
  const misplaced = missing.find(isElsewhere);
  if (misplaced) throw elsewhere(misplaced.BlockNumber);
  return {
    missing: missing
      .toSorted((left, right) => left.BlockNumber - right.BlockNumber || left.LogIndex - right.LogIndex)
      .map((record) => ({
        ...record,
        BlockTime: toIso(headerAt(headers, record.BlockNumber).timestamp * 1_000),
      })),
    wrong: [...wrong, ...replaced.map(({ stored }) => stored)],
    unproven: unread.length - wrong.length + changed.length - corrected.length,
  };
};

const elsewhere = (block: number): ChainUnavailable =>
  new ChainUnavailable(`a provider returned logs of block ${String(block)} with a block hash that is not on the chain`);

type Headers = ReadonlyMap<number, BlockHeader>;

/**
 * Returns the headers of the blocks in `numbers`, and those in `known`, by block number.
 * @param known headers that need not be requested
 */
const headersOf = async (
  reader: ChainReader,
  known: readonly BlockHeader[],
  numbers: readonly number[],
): Promise<Map<number, BlockHeader>> => {
  const headers = new Map(known.map((header) => [header.number, header]));
  const others = [...new Set(numbers)].filter((number) => !headers.has(number));
  for (const header of await reader.headersByNumber(others)) if (header) headers.set(header.number, header);
  return headers;
};

const headerAt = (headers: Headers, number: number): BlockHeader => {
  const header = headers.get(number);
  if (!header) throw new ChainUnavailable(`the provider does not have block ${String(number)}`);
  return header;
};

const compareWithBlooms = (reader: ChainReader, headers: Headers, logs: readonly ChainLog[]): void => {
  const byBlock = Map.groupBy(logs, ({ blockNumber }) => blockNumber);
  for (const [number, header] of headers) {
    const ofBlock = byBlock.get(number) ?? [];
    reader.compareWithBloom(
      header,
      ofBlock.filter(({ blockHash }) => blockHash === header.hash),
    );
  }
};
