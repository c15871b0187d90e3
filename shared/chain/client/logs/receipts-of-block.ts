import type { RpcCall } from '../answer-limits.ts';
import { BLOOM_MISMATCH, BLOOM_OF_EVERYTHING, bloomOf, isPartOfBloom } from '../../bloom.ts';
import type { BlockOfLogs, ChainLog, ReceiptLogs } from '../../chain-reader.ts';
import { checkReceipts, checkTransactions } from '../answers/checked-block-receipts.ts';
import { InvalidAnswer } from '../answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer, NoMethod } from '../endpoints/no-answer.ts';
import { expectedLogs, isTooMany } from './logs-by-hash.ts';

/**
 * The header's bloom has bits of no log: `eth_getLogs` of the whole block and the receipts of all its transactions
 * agree, and do not explain the bloom.
 */
export class OverstatedBloom extends InvalidAnswer {}

/**
 * Reads the logs of a block by `eth_getBlockReceipts`, or by the receipts one by one.
 * @throws OverstatedBloom, InvalidAnswer if they do not explain the block's bloom
 */
export const receiptsOfBlock = async (endpoint: JsonRpcEndpoint, block: BlockOfLogs): Promise<ReceiptLogs> => {
  const receipts = await askReceipts(endpoint, block);
  // Some chains have logs that the block's bloom omits (Polygon's state syncs).
  if (block.logsBloom === BLOOM_OF_EVERYTHING || isPartOfBloom(block.logsBloom, bloomOf(receipts.logs)))
    return receipts;
  const isAsReceipts = (all: readonly ChainLog[]) => {
    const ofTransactions = all.filter(({ txHash }) => receipts.txHashes.has(txHash));
    return placesOf(ofTransactions) === placesOf(receipts.logs);
  };
  const logs = await expectedLogs(endpoint, block, isAsReceipts).catch((error: unknown) => {
    if (!isTooMany(error)) throw error;
    // A block with too many logs for one answer cannot have receipts without any log.
    if (receipts.logs.length > 0) throw new OverstatedBloom(BLOOM_MISMATCH);
    return undefined;
  });
  // Receipts alone prove nothing.
  if (!logs) throw new InvalidAnswer(BLOOM_MISMATCH);
  // The bloom may include logs without a transaction.
  if (isPartOfBloom(block.logsBloom, bloomOf(logs))) return receipts;
  throw new OverstatedBloom(BLOOM_MISMATCH);
};

const placesOf = (logs: readonly ChainLog[]): string =>
  logs.map(({ txHash, logIndex }) => `${txHash}/${String(logIndex)}`).join();

const askReceipts = async (endpoint: JsonRpcEndpoint, block: BlockOfLogs): Promise<ReceiptLogs> => {
  const [answer] = await endpoint.call([{ method: 'eth_getBlockByHash', params: [block.hash, false] }]);
  const hashes = checkTransactions(answer, block);
  const [together] = await endpoint.tryCall([{ method: 'eth_getBlockReceipts', params: [block.hash] }]).catch(none);
  if (together && 'result' in together && together.result != null) {
    return checkReceipts(together.result, hashes, block);
  }
  const each = hashes.map((hash): RpcCall => ({ method: 'eth_getTransactionReceipt', params: [hash] }));
  return checkReceipts(await endpoint.call(each), hashes, block);
};

const NOT_OFFERED = /not (exist|available|support|found|implement|allow)|unsupported|unknown method|no such method/i;

/** Whether the endpoint has no readable receipts of the block, so that a retry does not help. */
export const hasNoReceipts = (error: unknown): error is InvalidAnswer | NoAnswer =>
  error instanceof InvalidAnswer ||
  error instanceof NoMethod ||
  (error instanceof NoAnswer &&
    (error.why.kind === 'state-pruned' || (error.why.kind === 'other' && NOT_OFFERED.test(error.message))));

/** Not every node has that method, and the receipts of a block may exceed the limit of bytes. */
const none = (error: unknown): [] => {
  if (error instanceof NoAnswer) return [];
  throw error;
};
