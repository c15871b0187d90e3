import {
  BLOOM_MISMATCH,
  BLOOM_OF_EVERYTHING,
  bloomMayPass,
  bloomOf,
  chanceInBloom,
  isPartOfBloom,
} from '../../bloom.ts';
import type { BlockHeader, BlockOfLogs, ChainLog, LogFilter, ReadingOfBlock } from '../../chain-reader.ts';
import { InvalidAnswer, OtherHash } from '../answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
import { EVERY_LOG, passes } from '../../log-filter.ts';
import { expectedLogs, isTooMany, logsByHash } from './logs-by-hash.ts';
import { logsByReceipts } from './misnamed-blocks.ts';
import { receiptsOfBlock } from './receipts-of-block.ts';
import { isPerhapsTooMuch } from '../refusals/refused-blocks.ts';
import { leftOutOfBlock } from './whole-answers.ts';

/** A bloom promises logs only if the probability of a match by chance is below this. */
const CHANCE_MAX = 0.01;

/**
 * `eth_getLogs` by block hash. If it returns none although the bloom promises some, reads the whole block to check it
 * against the bloom, and then against the receipts. If even one block is too much for the endpoint, uses
 * `eth_getBlockReceipts`, or the receipts one by one; also to check an answer that may be truncated, and for logs with
 * another block hash. The logs have the time of the header: providers do not always send that of the block.
 * @throws OverstatedBloom, MisnamedBlock
 */
export const logsOfBlock = async (
  endpoint: JsonRpcEndpoint,
  header: BlockHeader,
  filter: LogFilter,
  how: ReadingOfBlock = {},
): Promise<ChainLog[]> => {
  const logs = await readBlock(endpoint, header, filter, how);
  return logs.map((log) => ({ ...log, blockTimestamp: header.timestamp }));
};

const readBlock = async (
  endpoint: JsonRpcEndpoint,
  block: BlockOfLogs,
  filter: LogFilter,
  { chosenFrom = 0, isAgain = false }: ReadingOfBlock,
): Promise<ChainLog[]> => {
  try {
    const logs = await wholeBlock(endpoint, block, filter, isAgain);
    if (logs.length > 0 || !isPromised(block, filter, chosenFrom)) return logs;
    // Some chains have logs that their blooms omit (Polygon's state syncs).
    const isAccounted = (all: readonly ChainLog[]) => isPartOfBloom(block.logsBloom, bloomOf(all));
    let all: readonly ChainLog[] | undefined = await wholeBlock(endpoint, block, EVERY_LOG, isAgain);
    if (!isAccounted(all)) {
      await receiptsOfBlock(endpoint, block).catch(unlessNone);
      all = await expectedLogs(endpoint, block, isAccounted);
      if (!all) throw new InvalidAnswer(BLOOM_MISMATCH);
    }
    return all.filter((log) => passes(log, filter));
  } catch (error) {
    if (error instanceof OtherHash) return await logsByReceipts(endpoint, block, filter, error.logs);
    if (!(await isTooMuch(endpoint, error))) throw error;
    return (await receiptsOfBlock(endpoint, block)).logs.filter((log) => passes(log, filter));
  }
};

const wholeBlock = async (
  endpoint: JsonRpcEndpoint,
  block: BlockOfLogs,
  filter: LogFilter,
  isAgain: boolean,
): Promise<ChainLog[]> => {
  const { logs, answers } = await logsByHash(endpoint, block, filter);
  const leftOut = await leftOutOfBlock(endpoint, block, answers, isAgain);
  return leftOut.length === 0 ? logs : [...logs, ...leftOut].sort((left, right) => left.logIndex - right.logIndex);
};

const isPromised = ({ logsBloom }: BlockOfLogs, filter: LogFilter, chosenFrom: number): boolean =>
  logsBloom !== BLOOM_OF_EVERYTHING &&
  chanceInBloom(logsBloom, chosenFrom) <= CHANCE_MAX &&
  bloomMayPass(logsBloom, filter);

/** Receipts that cannot be read prove nothing. */
const unlessNone = (error: unknown): void => {
  if (!(error instanceof NoAnswer)) throw error;
};

const isTooMuch = async (endpoint: JsonRpcEndpoint, error: unknown): Promise<boolean> =>
  isTooMany(error) || (error instanceof NoAnswer && (await isPerhapsTooMuch(endpoint, error)));
