import { RangeTooLarge, type BlockHeader, type ChainLog, type LogFilter } from '../../chain-reader.ts';
import { InvalidAnswer } from '../answers/checked-answers.ts';
import { blockByNumber, headerOfNumber } from '../header-requests.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
import { askLogs, checkAnswers } from './log-requests.ts';
import { logsOfBlock } from './logs-of-block.ts';
import { MisnamedBlock, withRightHashes } from './misnamed-blocks.ts';
import {
  isPerhapsTooMuch,
  isProbablyPruned,
  PerhapsTooLarge,
  refusedAsPruned,
  RefusesBlocks,
} from '../refusals/refused-blocks.ts';
import { blocksOf, firstHalf, type BlockRange, type SuggestedRange } from '../refusals/suggested-range.ts';
import { cutOfRange } from './whole-answers.ts';

/**
 * `eth_getLogs` of a range, in one batch with its last block: an endpoint that does not have that block yet would
 * silently omit logs. A truncated answer counts as a refusal. A single block that is too much is read by its hash, and a
 * block whose logs have another hash than its header by its receipts. The endpoint's limit is adjusted to its answers.
 * @param isAgain whether these blocks are read for the last time
 * @throws RangeTooLarge, RefusesBlocks
 */
export const logsOfRange = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  filter: LogFilter,
  isAgain = false,
): Promise<ChainLog[]> => {
  const read = await readRange(endpoint, range, filter, isAgain);
  if (!read.last) return read.logs;
  try {
    return timed(await withRightHashes(endpoint, read.logs, read.last, { range, filter }), read.last);
  } catch (error) {
    throw error instanceof MisnamedBlock ? refusedFrom(error, range) : error;
  }
};

interface Read {
  logs: ChainLog[];
  /** The header of the last block; `undefined` if the logs were read by the hash of the only block. */
  last: BlockHeader | undefined;
}

/** Reads logs whose block hashes may be wrong. */
const readRange = async (
  endpoint: JsonRpcEndpoint,
  range: BlockRange,
  filter: LogFilter,
  isAgain: boolean,
): Promise<Read> => {
  try {
    const { answers, others } = await askLogs(endpoint, range, filter, [blockByNumber(range.to)]);
    const last = headerOfNumber(others[0], range.to);
    if (!last) throw missing(endpoint, range.to, 'the last block does not exist yet');
    const { checked, all } = checkAnswers(answers, range);
    endpoint.rangeLimit.answered(blocksOf(range));
    const logsMax = await cutOfRange(endpoint, range, checked, isAgain);
    if (logsMax !== undefined) throw cutAnswer(range, all, logsMax);
    return { logs: all, last };
  } catch (error) {
    const tooLarge = error instanceof RangeTooLarge ? error : await tooLargeOf(endpoint, error, range);
    if (!tooLarge) throw refusedAsPruned(endpoint, error, { number: range.to }) ?? error;
    if (range.from < range.to) throw tooLarge;
    const logs = await logsOfOne(endpoint, range.to, filter, { isAgain, refusal: tooLarge.message });
    return { logs, last: undefined };
  }
};

/** Reads a single block that was refused as a range, or truncated, by its hash or its receipts. */
const logsOfOne = async (
  endpoint: JsonRpcEndpoint,
  number: number,
  filter: LogFilter,
  { isAgain, refusal }: { isAgain: boolean; refusal: string },
): Promise<ChainLog[]> => {
  try {
    const [answer] = await endpoint.call([blockByNumber(number)]);
    const header = headerOfNumber(answer, number);
    if (!header) throw missing(endpoint, number, 'the block does not exist yet');
    return await logsOfBlock(endpoint, header, filter, { isAgain });
  } catch (error) {
    if (error instanceof MisnamedBlock) throw refusedFrom(error, { from: number, to: number });
    if (!(error instanceof NoAnswer)) throw error;
    const { why } = error;
    const message = [...new Set([refusal, error.message])].join('; ');
    const pruned = refusedAsPruned(endpoint, error, { number, message });
    if (pruned) throw pruned;
    const isRefused = why.kind === 'other' && (await endpoint.answersAtAll());
    throw isRefused ? new RefusesBlocks(message, false) : error;
  }
};

const missing = (endpoint: JsonRpcEndpoint, number: number, otherwise: string): Error =>
  isProbablyPruned(endpoint, number)
    ? new RefusesBlocks(`it has no block ${String(number)}, though much newer ones`, false)
    : new InvalidAnswer(otherwise);

/**
 * Suggests the blocks before the last one with logs, which should fit into an answer, but at most half of the range, in
 * case the first logs were omitted.
 */
const cutAnswer = (range: BlockRange, logs: readonly ChainLog[], logsMax: number): RangeTooLarge => {
  const { from } = range;
  const before = (logs.at(-1)?.blockNumber ?? from) - from;
  const blocks = Math.max(1, Math.min(before, Math.floor(blocksOf(range) / 2)));
  return new RangeTooLarge(`it returns ${String(logsMax)} logs at most`, { blocks, of: 'logs', logsMax });
};

/** Suggests the blocks before a block that cannot be read. A block that cannot be read by itself is refused. */
const refusedFrom = ({ message, block }: MisnamedBlock, { from, to }: BlockRange): Error =>
  from === to
    ? new RefusesBlocks(message, false)
    : new PerhapsTooLarge(message, { blocks: Math.max(1, block - from), of: 'logs', logsMax: Infinity });

/**
 * Gives the logs of the last block the time of its header. Removes the time of a log if it is after the header's:
 * providers do not always send that of its block.
 */
const timed = (logs: ChainLog[], { number, timestamp }: BlockHeader): ChainLog[] => {
  for (const log of logs) {
    if (log.blockNumber === number) log.blockTimestamp = timestamp;
    else if ((log.blockTimestamp ?? 0) > timestamp) log.blockTimestamp = undefined;
  }
  return logs;
};

/**
 * An endpoint that is too slow for a range, or refuses it with an unrecognised text, but answers a small request at
 * once, may have been asked for too much: suggests half.
 */
const tooLargeOf = async (
  endpoint: JsonRpcEndpoint,
  error: unknown,
  asked: BlockRange,
): Promise<RangeTooLarge | undefined> => {
  if (!(error instanceof NoAnswer)) return undefined;
  const { why, message } = error;
  if (await isPerhapsTooMuch(endpoint, error)) {
    const { suggested } = suggesting(message, asked, firstHalf(asked, 'logs'));
    return why.kind === 'other' ? new PerhapsTooLarge(message, suggested) : new RangeTooLarge(message, suggested);
  }
  if (why.kind !== 'range-too-large') return undefined;
  if (why.of === 'blocks') {
    endpoint.rangeLimit.refused(blocksOf(asked), why.isNamed ? why.to - asked.from + 1 : undefined, true);
  }
  return suggesting(message, asked, why);
};

const suggesting = (message: string, { from }: BlockRange, next: SuggestedRange): RangeTooLarge =>
  new RangeTooLarge(message, { blocks: next.to - from + 1, of: next.of, logsMax: next.logsMax });
