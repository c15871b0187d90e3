import { BLOOM_OF_EVERYTHING } from '../../bloom.ts';
import type { BlockHeader, ChainLog, LogFilter } from '../../chain-reader.ts';
import { passes } from '../../log-filter.ts';
import { InvalidAnswer } from '../answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { blockByNumber, headerOfNumber } from '../header-requests.ts';
import { PerhapsTooLarge } from '../refusals/refused-blocks.ts';
import type { BlockRange } from '../refusals/suggested-range.ts';
import { hasNoReceipts, receiptsOfBlock } from './receipts-of-block.ts';

/** With more misnamed blocks in an answer, a smaller range is requested: the receipts of a block take two calls. */
const MISNAMED_MAX = 100;

/** The logs of a block have another hash than its header, and its receipts do not tell which logs the block has. */
export class MisnamedBlock extends InvalidAnswer {
  constructor(
    readonly block: number,
    cause: Error,
  ) {
    super(`its logs of block ${String(block)} have another hash than the header; by receipts: ${cause.message}`, {
      cause,
    });
  }
}

/**
 * Compares the block hashes in a range's logs with the headers of the last block, which the caller has, and of some other
 * blocks. If a hash differs, compares all blocks, and replaces the logs of each misnamed block by those of its receipts.
 * @throws MisnamedBlock, PerhapsTooLarge
 */
export const withRightHashes = async (
  endpoint: JsonRpcEndpoint,
  logs: ChainLog[],
  last: BlockHeader,
  { range, filter }: { range: BlockRange; filter: LogFilter },
): Promise<ChainLog[]> => {
  const byBlock = Map.groupBy(logs, ({ blockNumber }) => blockNumber);
  const headers = new Map([[last.number, last]]);
  const others = [...byBlock.keys()].filter((number) => number !== last.number);
  const wrongOf = async (numbers: readonly number[]): Promise<BlockHeader[]> => {
    const missing = numbers.filter((number) => !headers.has(number));
    for (const header of await headersOf(endpoint, missing)) headers.set(header.number, header);
    return Array.from(headers.values()).filter(({ number, hash }) =>
      byBlock.get(number)?.some(({ blockHash }) => blockHash !== hash),
    );
  };
  let wrong = await wrongOf([...endpoint.blockHashes.select(others), ...blocksOfSeveralHashes(logs)]);
  if (wrong.length > 0) wrong = await wrongOf(others);
  endpoint.blockHashes.compared({ right: headers.size - 1 - wrong.length, wrong: wrong.length });
  if (wrong.length === 0) return logs;
  if (wrong.length > MISNAMED_MAX) {
    const blocks = Math.ceil((range.to - range.from) / 2);
    throw new PerhapsTooLarge('its logs of many blocks have other hashes than the headers', {
      blocks,
      of: 'logs',
      logsMax: Infinity,
    });
  }
  for (const header of wrong) byBlock.set(header.number, await logsByReceipts(endpoint, header, filter));
  return Array.from(byBlock.values()).flat();
};

const blocksOfSeveralHashes = (logs: readonly ChainLog[]): number[] =>
  logs
    .filter((log, at) => log.blockNumber === logs[at - 1]?.blockNumber && log.blockHash !== logs[at - 1]?.blockHash)
    .map(({ blockNumber }) => blockNumber);

const headersOf = async (endpoint: JsonRpcEndpoint, numbers: readonly number[]): Promise<BlockHeader[]> => {
  if (numbers.length === 0) return [];
  const answers = await endpoint.call(numbers.map(blockByNumber));
  return answers.map((answer, at) => {
    const header = headerOfNumber(answer, numbers[at]);
    if (!header) throw new InvalidAnswer('it has logs of a block that it does not have');
    return header;
  });
};

/**
 * Reads the logs of a block by its receipts because `eth_getLogs` returns them with another hash.
 * @throws MisnamedBlock
 */
export const logsByReceipts = async (
  endpoint: JsonRpcEndpoint,
  block: Pick<BlockHeader, 'number' | 'hash'>,
  filter: LogFilter,
): Promise<ChainLog[]> => {
  try {
    const { logs } = await receiptsOfBlock(endpoint, { ...block, logsBloom: BLOOM_OF_EVERYTHING });
    return logs.filter((log) => passes(log, filter));
  } catch (error) {
    throw hasNoReceipts(error) ? new MisnamedBlock(block.number, error) : error;
  }
};
