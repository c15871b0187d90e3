import type { BlockHeader, ChainLog, LogFilter } from '../../chain-reader.ts';
import { EVERY_LOG } from '../../log-filter.ts';
import { InvalidAnswer, OtherBlocks } from '../answers/checked-answers.ts';
import { blockByNumber, headerOfNumber } from '../header-requests.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
import { askLogs, checkAnswers, type CheckedAnswer } from './log-requests.ts';

type Block = Pick<BlockHeader, 'hash' | 'number'>;

/** The logs of a block, and the answers that contained them. */
export interface LogsByHash {
  logs: ChainLog[];
  answers: CheckedAnswer[];
}

/**
 * `eth_getLogs` of a block by its hash. Not every node supports that: some refuse, some answer with other blocks, and
 * some with an empty list. Such nodes are asked by block number, with the header of that number in the same batch,
 * which must be this block's.
 */
export const logsByHash = async (endpoint: JsonRpcEndpoint, block: Block, filter: LogFilter): Promise<LogsByHash> => {
  if (endpoint.takesBlockHash === false) return logsByNumber(endpoint, block, filter);
  try {
    const { answers } = await askLogs(endpoint, block, filter);
    const found = ofBlock(checkAnswers(answers, only(block)));
    const hasLogs = found.logs.length > 0;
    // A node that ignores the hash may answer with its newest block, so logs of that block prove nothing.
    if (hasLogs && block.number < (endpoint.head?.number ?? 0)) endpoint.takesBlockHash ??= true;
    if (hasLogs || endpoint.takesBlockHash) return found;
  } catch (error) {
    const isOther = error instanceof OtherBlocks;
    if (!isOther && !(error instanceof NoAnswer && error.why.kind === 'other')) throw error;
    const found = await logsByNumber(endpoint, block, filter).catch((byNumber: unknown) => {
      throw isTooMany(byNumber) ? byNumber : error;
    });
    // A node that fails temporarily may accept the hash next time.
    if (isOther || OF_PARAMETERS.test(error.message)) endpoint.takesBlockHash = false;
    return found;
  }
  const byNumber = await logsByNumber(endpoint, block, filter);
  // The node ignored the hash, and answered with a block that has no logs.
  if (byNumber.logs.length > 0) endpoint.takesBlockHash = false;
  return byNumber;
};

/**
 * Returns the logs of a block that satisfy `isExpected`: by hash, or else by number, because a node that ignores the
 * hash may have answered with a block without logs.
 */
export const expectedLogs = async (
  endpoint: JsonRpcEndpoint,
  block: Block,
  isExpected: (logs: readonly ChainLog[]) => boolean,
): Promise<ChainLog[] | undefined> => {
  try {
    const { logs } = await logsByHash(endpoint, block, EVERY_LOG);
    if (isExpected(logs)) return logs;
    if (endpoint.takesBlockHash === false) return undefined;
    const byNumber = await logsByNumber(endpoint, block, EVERY_LOG);
    if (!isExpected(byNumber.logs)) return undefined;
    endpoint.takesBlockHash = false;
    return byNumber.logs;
  } catch (error) {
    if (!isTooMany(error) && (error instanceof NoAnswer || error instanceof InvalidAnswer)) return undefined;
    throw error;
  }
};

/** Whether a block has more logs than the endpoint sends in one answer. */
export const isTooMany = (error: unknown): boolean => error instanceof NoAnswer && error.why.kind === 'range-too-large';

const OF_PARAMETERS = /hash|param|argument|filter|field|support/i;

const logsByNumber = async (endpoint: JsonRpcEndpoint, block: Block, filter: LogFilter): Promise<LogsByHash> => {
  const range = { from: block.number, to: block.number };
  const { answers, others } = await askLogs(endpoint, range, filter, [blockByNumber(block.number)]);
  const header = headerOfNumber(others[0], block.number);
  if (!header) throw new InvalidAnswer('it does not have that block yet');
  if (header.hash !== block.hash) throw new InvalidAnswer('it has another block of that number');
  return ofBlock(checkAnswers(answers, only(block)));
};

const only = ({ number, hash }: Block) => ({ from: number, to: number, blockHash: hash });

const ofBlock = ({ checked, all }: ReturnType<typeof checkAnswers>): LogsByHash => ({ logs: all, answers: checked });
