import { z } from 'zod';
import { safeParse } from '../primitives/safe-parse.ts';
import { BLOOM_OF_EVERYTHING, BLOOM_OF_NOTHING } from './bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from './chain-reader.ts';

/** A provider's answer that cannot be true. Another provider may do better. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer';
}

/** A JSON-RPC quantity: `0x` hex on the wire, a number here. Block numbers, times and indexes fit. */
const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,13}$/)
  .transform((text) => Number.parseInt(text, 16));
/** Unix seconds of the last time that is written with a year of four digits, as every time here is. */
const TIME_MAX = 253_402_300_799;
const NO_DATE = 'is a time that no date holds';
const time = quantity.refine((seconds) => seconds <= TIME_MAX, NO_DATE);
const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase());
const header = z.object({
  number: quantity,
  hash,
  parentHash: hash,
  timestamp: time,
  logsBloom: z
    .string()
    .regex(/^0x[0-9a-fA-F]{512}$/)
    .transform((text) => text.toLowerCase()),
  gasUsed: z.string().optional(),
});

/** Returns `undefined` for `null`, the answer for an unknown block. @throws InvalidAnswer */
export const checkHeader = (answer: unknown): BlockHeader | undefined => {
  if (answer === null || answer === undefined) return undefined;
  const parsed = safeParse(header, answer);
  if (!parsed.success) throw new InvalidAnswer(`the header is not valid: ${z.prettifyError(parsed.error)}`);
  const { gasUsed, ...fields } = parsed.data;
  // Some chains leave every bloom empty. An empty bloom is trusted only for a block that used no gas.
  const isUnusable = fields.logsBloom === BLOOM_OF_NOTHING && !/^0x0*$/.test(gasUsed ?? '');
  return isUnusable ? { ...fields, logsBloom: BLOOM_OF_EVERYTHING } : fields;
};

interface RawLog {
  address?: unknown;
  topics?: unknown;
  data?: unknown;
  blockNumber?: unknown;
  blockHash?: unknown;
  blockTimestamp?: unknown;
  transactionHash?: unknown;
  transactionIndex?: unknown;
  logIndex?: unknown;
  removed?: unknown;
}

const isRawLog = (value: unknown): value is RawLog => typeof value === 'object' && value !== null;

const TOPICS_MAX = 4;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const HASH = /^0x[0-9a-fA-F]{64}$/;
const QUANTITY = /^0x[0-9a-fA-F]{1,13}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;

const readQuantity = (value: unknown, what: string): number => {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw new InvalidAnswer(`a log has no valid ${what}`);
  return Number.parseInt(value, 16);
};
const readTime = (value: unknown): number => {
  const seconds = readQuantity(value, 'block timestamp');
  if (seconds > TIME_MAX) throw new InvalidAnswer(`the timestamp of a log ${NO_DATE}`);
  return seconds;
};
const readHex = (value: unknown, pattern: RegExp, what: string): string => {
  if (typeof value !== 'string' || !pattern.test(value)) throw new InvalidAnswer(`a log has no valid ${what}`);
  return value.toLowerCase();
};
/** Logs of one block or contract have the same text again and again: it is checked once, and is in memory once. */
const repeatedHex = (pattern: RegExp, what: string): ((value: unknown) => string) => {
  let newest: string | undefined;
  return (value) => (value !== undefined && value === newest ? newest : (newest = readHex(value, pattern, what)));
};
const readContract = repeatedHex(ADDRESS, 'address');
const readFirstTopic = repeatedHex(HASH, 'topic');
const readBlockHash = repeatedHex(HASH, 'block hash');
const readTxHash = repeatedHex(HASH, 'transaction hash');

const readLog = (raw: unknown): ChainLog => {
  if (!isRawLog(raw)) throw new InvalidAnswer('a log is not an object');
  if (raw.removed === true) throw new InvalidAnswer('a log is marked as removed');
  if (!Array.isArray(raw.topics) || raw.topics.length > TOPICS_MAX)
    throw new InvalidAnswer('a log has no valid topics');
  return {
    address: readContract(raw.address),
    topics: raw.topics.map((topic: unknown, at) => (at === 0 ? readFirstTopic(topic) : readHex(topic, HASH, 'topic'))),
    data: readHex(raw.data, BYTES, 'data'),
    blockNumber: readQuantity(raw.blockNumber, 'block number'),
    blockHash: readBlockHash(raw.blockHash),
    blockTimestamp: raw.blockTimestamp == null ? undefined : readTime(raw.blockTimestamp),
    txHash: readTxHash(raw.transactionHash),
    txIndex: readQuantity(raw.transactionIndex, 'transaction index'),
    logIndex: readQuantity(raw.logIndex, 'log index'),
  };
};

interface LogRequest extends LogFilter {
  /** The requested blocks, inclusive. */
  from: number;
  to: number;
  /** The requested block, if it was only one. */
  blockHash?: string;
}

/**
 * Returns logs in chain order, after checking that each one was requested.
 * @throws InvalidAnswer for logs of other blocks, addresses or topics, removed ones, two with the same index, two
 * hashes of one block
 */
export const checkLogs = (answer: unknown, request: LogRequest): ChainLog[] => {
  if (!Array.isArray(answer)) throw new InvalidAnswer('the logs are not a list');
  const logs = answer.map(readLog);
  const addresses = new Set(request.addresses);
  const topics = new Set(request.topics);
  for (const log of logs) {
    if (log.blockNumber < request.from || log.blockNumber > request.to)
      throw new InvalidAnswer('a log is of another block');
    if (request.blockHash !== undefined && log.blockHash !== request.blockHash) {
      throw new InvalidAnswer('a log is of another block of that number');
    }
    if (addresses.size > 0 && !addresses.has(log.address)) throw new InvalidAnswer('a log is of another address');
    if (topics.size > 0 && !topics.has(log.topics[0] ?? '')) throw new InvalidAnswer('a log is of another topic');
  }
  logs.sort((left, right) => left.blockNumber - right.blockNumber || left.logIndex - right.logIndex);
  let before: ChainLog | undefined;
  for (const log of logs) {
    if (before?.blockNumber === log.blockNumber) {
      if (before.logIndex === log.logIndex) throw new InvalidAnswer('two logs have the same index');
      if (before.blockHash !== log.blockHash) {
        throw new InvalidAnswer('two logs of one block have two block hashes');
      }
    }
    before = log;
  }
  return logs;
};
