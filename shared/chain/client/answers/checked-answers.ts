import { isDeepStrictEqual } from 'node:util';
import { ADDRESS, BLOOM, BYTES, HASH, hexOf, numberOf, timeOf } from './answered-forms.ts';
import { BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING } from '../../bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../chain-reader.ts';
import { inChainOrder } from '../../log-filter.ts';

/** A provider's answer that cannot be true. Another provider may do better. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

/** The logs belong to other blocks than requested. */
export class OtherBlocks extends InvalidAnswer {}

/** The logs have the number of the requested block, and another hash. */
export class OtherHash extends InvalidAnswer {
  constructor(readonly logs: readonly ChainLog[]) {
    super('a log is of another block of that number');
  }
}

type RawHeader = Partial<Record<keyof BlockHeader | 'gasUsed', unknown>>;

/** Returns `undefined` for `null`, the answer for an unknown block. @throws InvalidAnswer */
export const checkHeader = (answer: unknown): BlockHeader | undefined => {
  if (answer === null || answer === undefined) return undefined;
  const { number, hash, parentHash, timestamp, logsBloom, gasUsed } = Object(answer) as RawHeader;
  const header = {
    number: required(numberOf(number), 'the header has no valid number'),
    hash: required(hexOf(hash, HASH), 'the header has no valid hash'),
    parentHash: required(hexOf(parentHash, HASH), 'the header has no valid parentHash'),
    timestamp: required(timeOf(timestamp), 'the header has no valid timestamp'),
  };
  const bloom = hexOf(logsBloom, BLOOM);
  // Some chains have no blooms, or leave all of them empty. An empty bloom is trusted only for a block that used no
  // gas.
  const isUsable = bloom !== undefined && (bloom !== BLOOM_OF_NOTHING || isNothing(gasUsed));
  return { ...header, logsBloom: isUsable ? bloom : BLOOM_OF_EVERYTHING };
};

const isNothing = (gasUsed: unknown): boolean =>
  gasUsed === 0 || (typeof gasUsed === 'string' && /^0x0*$/i.test(gasUsed));

/** @throws InvalidAnswer with this message if there is no value */
const required = <Value>(value: Value | undefined, message: string): Value => {
  if (value === undefined) throw new InvalidAnswer(message);
  return value;
};

type RawLog = Partial<Record<keyof ChainLog | 'transactionHash' | 'transactionIndex' | 'removed', unknown>>;

const isRawLog = (value: unknown): value is RawLog => typeof value === 'object' && value !== null;

const TOPICS_MAX = 4;

/**
 * Checks a text once, and keeps it in memory once, as long as the same text repeats: logs of one block or contract
 * share most of theirs.
 */
const repeatedHex = (pattern: RegExp, message: string): ((value: unknown) => string) => {
  let raw: unknown;
  let newest = '';
  return (value) => {
    if (value !== undefined && value === raw) return newest;
    newest = required(hexOf(value, pattern), message);
    raw = value;
    return newest;
  };
};
const readContract = repeatedHex(ADDRESS, 'a log has no valid address');
const readFirstTopic = repeatedHex(HASH, 'a log has no valid topic');
const readBlockHash = repeatedHex(HASH, 'a log has no valid block hash');
const readTxHash = repeatedHex(HASH, 'a log has no valid transaction hash');
const readTopic = (topic: unknown): string => required(hexOf(topic, HASH), 'a log has no valid topic');

/** Not every provider sends the block's time with its logs, and some send 0. The header has the time. */
const optionalTime = (value: unknown): number | undefined => (numberOf(value) === 0 ? undefined : timeOf(value));

const readLog = (raw: unknown): ChainLog => {
  if (!isRawLog(raw)) throw new InvalidAnswer('a log is not an object');
  if (raw.removed === true) throw new InvalidAnswer('a log is marked as removed');
  if (!Array.isArray(raw.topics) || raw.topics.length > TOPICS_MAX)
    throw new InvalidAnswer('a log has no valid topics');
  return {
    address: readContract(raw.address),
    topics: raw.topics.map((topic: unknown, at) => (at === 0 ? readFirstTopic(topic) : readTopic(topic))),
    data: required(hexOf(raw.data, BYTES), 'a log has no valid data'),
    blockNumber: required(numberOf(raw.blockNumber), 'a log has no valid block number'),
    blockHash: readBlockHash(raw.blockHash),
    blockTimestamp: optionalTime(raw.blockTimestamp),
    txHash: readTxHash(raw.transactionHash),
    txIndex: required(numberOf(raw.transactionIndex), 'a log has no valid transaction index'),
    logIndex: required(numberOf(raw.logIndex), 'a log has no valid log index'),
  };
};

interface LogRequest extends LogFilter {
  /** The requested blocks, inclusive. */
  from: number;
  to: number;
  /** The requested block, if the request was for one by its hash. */
  blockHash?: string;
}

/**
 * Returns logs in chain order, after checking that each was requested. Drops exact duplicates, which some providers
 * send.
 * @throws InvalidAnswer for logs of other blocks, addresses or topics, removed logs, or two different logs with the same
 * index
 */
export const checkLogs = (answer: unknown, request: LogRequest): ChainLog[] => {
  if (!Array.isArray(answer)) throw new InvalidAnswer('the logs are not a list');
  const logs = answer.map(readLog);
  const addresses = new Set(request.addresses);
  const topics = new Set(request.topics);
  for (const log of logs) {
    if (log.blockNumber < request.from || log.blockNumber > request.to)
      throw new OtherBlocks('a log is of another block');
    if (request.blockHash !== undefined && log.blockHash !== request.blockHash) {
      throw new OtherHash(logs);
    }
    if (addresses.size > 0 && !addresses.has(log.address)) throw new InvalidAnswer('a log is of another address');
    if (topics.size > 0 && !topics.has(log.topics[0] ?? '')) throw new InvalidAnswer('a log is of another topic');
  }
  logs.sort(inChainOrder);
  let before: ChainLog | undefined;
  const repeated = new Set<ChainLog>();
  for (const log of logs) {
    if (before?.blockNumber === log.blockNumber) {
      if (before.logIndex === log.logIndex) {
        if (!isDeepStrictEqual(before, log)) throw new InvalidAnswer('two logs have the same index');
        repeated.add(log);
      }
    }
    before = log;
  }
  return repeated.size === 0 ? logs : logs.filter((log) => !repeated.has(log));
};
