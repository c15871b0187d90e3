import type { BlockHeader, ChainLog, LogFilter } from './chain-reader.ts';
import { checkLogs, InvalidAnswer, OtherBlocks } from './checked-answers.ts';
import { blockByNumber, headerOfNumber } from './header-requests.ts';
import { NoAnswer, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { askLogs, type AnsweredFilter } from './log-requests.ts';

const ANY: LogFilter = { addresses: [], topics: [] };

type Block = Pick<BlockHeader, 'hash' | 'number'>;

/** The logs of a block, and the answers that they were in. */
export interface LogsByHash {
  logs: ChainLog[];
  answers: AnsweredFilter[];
}

/**
 * `eth_getLogs` of a block by its hash. Not every node takes one: some refuse it, some answer with other blocks, and some with an
 * empty list. Those are asked for the block's number, and in the same batch for the header of that number, which must be this block's.
 */
export const logsByHash = async (endpoint: JsonRpcEndpoint, block: Block, filter: LogFilter): Promise<LogsByHash> => {
  if (endpoint.takesBlockHash === false) return logsByNumber(endpoint, block, filter);
  try {
    const { answers } = await askLogs(endpoint, block, filter);
    const found = checked(answers, block, filter);
    const hasLogs = found.logs.length > 0;
    // A node that ignores the hash may answer with its newest block: logs of that one prove nothing.
    if (hasLogs && block.number < (endpoint.head?.number ?? 0)) endpoint.takesBlockHash ??= true;
    if (hasLogs || endpoint.takesBlockHash) return found;
  } catch (error) {
    const isOther = error instanceof OtherBlocks;
    if (!isOther && !(error instanceof NoAnswer && error.why.kind === 'other')) throw error;
    const found = await logsByNumber(endpoint, block, filter).catch((byNumber: unknown) => {
      throw isTooMany(byNumber) ? byNumber : error;
    });
    // A node that fails for a moment takes it the next time.
    if (isOther || OF_PARAMETERS.test(error.message)) endpoint.takesBlockHash = false;
    return found;
  }
  const byNumber = await logsByNumber(endpoint, block, filter);
  // It ignored the hash, and answered with a block that has no logs.
  if (byNumber.logs.length > 0) endpoint.takesBlockHash = false;
  return byNumber;
};

/**
 * The logs of a block, if they are as expected: by its hash, or else by its number, since a node that ignores the hash may have
 * answered with a block without logs.
 */
export const expectedLogs = async (
  endpoint: JsonRpcEndpoint,
  block: Block,
  isExpected: (logs: readonly ChainLog[]) => boolean,
): Promise<ChainLog[] | undefined> => {
  try {
    const { logs } = await logsByHash(endpoint, block, ANY);
    if (isExpected(logs)) return logs;
    if (endpoint.takesBlockHash === false) return undefined;
    const byNumber = await logsByNumber(endpoint, block, ANY);
    if (!isExpected(byNumber.logs)) return undefined;
    endpoint.takesBlockHash = false;
    return byNumber.logs;
  } catch (error) {
    if (!isTooMany(error) && (error instanceof NoAnswer || error instanceof InvalidAnswer)) return undefined;
    throw error;
  }
};

/** Whether an endpoint has more logs of a block than it gives in one answer. */
export const isTooMany = (error: unknown): boolean => error instanceof NoAnswer && error.why.kind === 'range-too-large';

const OF_PARAMETERS = /hash|param|argument|filter|field|support/i;

const logsByNumber = async (endpoint: JsonRpcEndpoint, block: Block, filter: LogFilter): Promise<LogsByHash> => {
  const range = { from: block.number, to: block.number };
  const { answers, others } = await askLogs(endpoint, range, filter, [blockByNumber(block.number)]);
  const header = headerOfNumber(others[0], block.number);
  if (!header) throw new InvalidAnswer('it does not have that block yet');
  if (header.hash !== block.hash) throw new InvalidAnswer('it has another block of that number');
  return checked(answers, block, filter);
};

/** @throws InvalidAnswer */
const checked = (answers: AnsweredFilter[], { number, hash }: Block, filter: LogFilter): LogsByHash => {
  const all = answers.flatMap(({ logs }) => logs);
  return { logs: checkLogs(all, { ...filter, from: number, to: number, blockHash: hash }), answers };
};
