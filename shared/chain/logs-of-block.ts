import type { RpcCall } from './answer-limits.ts';
import { BLOOM_OF_EVERYTHING, bloomMayPass, bloomOf, chanceInBloom, isPartOfBloom } from './bloom.ts';
import type { BlockOfLogs, ChainLog, LogFilter, ReceiptLogs } from './chain-reader.ts';
import { checkReceipts, checkTransactions } from './checked-block-receipts.ts';
import { checkLogs, InvalidAnswer } from './checked-answers.ts';
import { NoAnswer, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { passes } from './log-filter.ts';
import { askLogs } from './log-requests.ts';

const ANY: LogFilter = { addresses: [], topics: [] };

/** A bloom promises logs only if it allows them by chance less often. */
const CHANCE_MAX = 0.01;

/**
 * `eth_getLogs` by block hash. When it returns none although the bloom promises some, again for the whole block, to check it
 * against the bloom. When even one block is too much for the endpoint, `eth_getBlockReceipts`, or the receipts one by one.
 */
export const logsOfBlock = async (
  endpoint: JsonRpcEndpoint,
  block: BlockOfLogs,
  filter: LogFilter,
  chosenFrom = 0,
): Promise<ChainLog[]> => {
  try {
    const logs = await logsByHash(endpoint, block, filter);
    if (logs.length > 0 || !isPromised(block, filter, chosenFrom)) return logs;
    const all = await logsByHash(endpoint, block, ANY);
    // Some chains have logs that their blooms omit (Polygon's state syncs). No chain has bloom bits without a log.
    if (!isPartOfBloom(block.logsBloom, bloomOf(all))) {
      throw new InvalidAnswer('logs that the bloom announces are missing');
    }
    return all.filter((log) => passes(log, filter));
  } catch (error) {
    if (!(await isTooMuch(endpoint, error))) throw error;
    return (await receiptsOfBlock(endpoint, block)).logs.filter((log) => passes(log, filter));
  }
};

const isPromised = ({ logsBloom }: BlockOfLogs, filter: LogFilter, chosenFrom: number): boolean =>
  logsBloom !== BLOOM_OF_EVERYTHING &&
  chanceInBloom(logsBloom, chosenFrom) <= CHANCE_MAX &&
  bloomMayPass(logsBloom, filter);

const logsByHash = async (endpoint: JsonRpcEndpoint, block: BlockOfLogs, filter: LogFilter): Promise<ChainLog[]> => {
  const { logs } = await askLogs(endpoint, block, filter);
  return checkLogs(logs, { ...filter, from: block.number, to: block.number, blockHash: block.hash });
};

const isTooMuch = async (endpoint: JsonRpcEndpoint, error: unknown): Promise<boolean> => {
  if (!(error instanceof NoAnswer)) return false;
  return error.why.kind === 'range-too-large' || (error.why.kind === 'too-slow' && (await endpoint.answersAtAll()));
};

/** The logs of a block by `eth_getBlockReceipts`, or by the receipts one by one. */
export const receiptsOfBlock = async (endpoint: JsonRpcEndpoint, block: BlockOfLogs): Promise<ReceiptLogs> => {
  const [answer] = await endpoint.call([{ method: 'eth_getBlockByHash', params: [block.hash, false] }]);
  const hashes = checkTransactions(answer, block);
  const [together] = await endpoint.tryCall([{ method: 'eth_getBlockReceipts', params: [block.hash] }]).catch(none);
  if (together && 'result' in together && together.result != null) {
    return checkReceipts(together.result, hashes, block);
  }
  const each = hashes.map((hash): RpcCall => ({ method: 'eth_getTransactionReceipt', params: [hash] }));
  return checkReceipts(await endpoint.call(each), hashes, block);
};

/** Not every node has that method, and the receipts of a block may be too many bytes. */
const none = (error: unknown): [] => {
  if (error instanceof NoAnswer) return [];
  throw error;
};
