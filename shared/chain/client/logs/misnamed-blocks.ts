import type { BlockHeader, BlockOfLogs, ChainLog, LogFilter } from '../../chain-reader.ts';
import { BLOOM_OF_EVERYTHING } from '../../bloom.ts';
import { passes } from '../../log-filter.ts';
import { InvalidAnswer } from '../answers/checked-answers.ts';
import type { JsonRpcEndpoint } from '../endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from '../endpoints/no-answer.ts';
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
 * @throws MisnamedBlock for the first block that cannot be read; PerhapsTooLarge
 */
export const withRightHashes = async (
  endpoint: JsonRpcEndpoint,
  logs: ChainLog[],
  last: BlockHeader,
  { range, filter }: { range: BlockRange; filter: LogFilter },
): Promise<ChainLog[]> => {
  const byBlock = Map.groupBy(logs, ({ blockNumber }) => blockNumber);
  try {
    const wrong = await misnamedBlocks(endpoint, byBlock, last);
    if (wrong.length === 0) return logs;
    if (wrong.length > MISNAMED_MAX) throw halfOf(range, 'its logs of many blocks have other hashes than the headers');
    for (const header of wrong) {
      const misnamed = byBlock.get(header.number) ?? [];
      const asked = { ...header, logsBloom: BLOOM_OF_EVERYTHING };
      byBlock.set(header.number, await logsByReceipts(endpoint, asked, filter, misnamed));
    }
    return Array.from(byBlock.values()).flat();
  } catch (error) {
    if (!(error instanceof NoAnswer && error.why.kind === 'rate-limited')) throw error;
    endpoint.blockHashes.takesFewRequests();
    throw range.from < range.to ? halfOf(range, error.message) : error;
  }
};

/** Returns the headers of blocks whose logs have another hash, in chain order. */
const misnamedBlocks = async (
  endpoint: JsonRpcEndpoint,
  byBlock: ReadonlyMap<number, readonly ChainLog[]>,
  last: BlockHeader,
): Promise<BlockHeader[]> => {
  const headers = new Map([[last.number, last]]);
  const others = [...byBlock.keys()].filter((number) => number !== last.number);
  const wrongOf = async (numbers: readonly number[]): Promise<BlockHeader[]> => {
    const missing = numbers.filter((number) => !headers.has(number));
    for (const header of await headersOf(endpoint, missing)) headers.set(header.number, header);
    const wrong = Array.from(headers.values()).filter(({ number, hash }) =>
      byBlock.get(number)?.some(({ blockHash }) => blockHash !== hash),
    );
    return wrong.toSorted((left, right) => left.number - right.number);
  };
  let wrong = await wrongOf([...endpoint.blockHashes.select(others), ...blocksOfSeveralHashes(byBlock)]);
  if (wrong.length > 0) wrong = await wrongOf(others);
  endpoint.blockHashes.compared({ right: headers.size - 1 - wrong.length, wrong: wrong.length });
  return wrong;
};

const blocksOfSeveralHashes = (byBlock: ReadonlyMap<number, readonly ChainLog[]>): number[] =>
  [...byBlock].flatMap(([number, [first, ...others]]) =>
    others.some(({ blockHash }) => blockHash !== first?.blockHash) ? [number] : [],
  );

const halfOf = ({ from, to }: BlockRange, message: string): PerhapsTooLarge =>
  new PerhapsTooLarge(message, { blocks: Math.ceil((to - from) / 2), of: 'logs', logsMax: Infinity });

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
 * @param misnamed the logs with the other hash, all of which must be in the receipts: some chains have logs without a
 * transaction
 * @throws MisnamedBlock
 */
export const logsByReceipts = async (
  endpoint: JsonRpcEndpoint,
  block: BlockOfLogs,
  filter: LogFilter,
  misnamed: readonly Pick<ChainLog, 'txHash' | 'logIndex'>[],
): Promise<ChainLog[]> => {
  try {
    const { logs } = await receiptsOfBlock(endpoint, block);
    const places = new Set(logs.map(placeOf));
    if (misnamed.some((log) => !places.has(placeOf(log)))) throw new InvalidAnswer('the receipts lack a log');
    return logs.filter((log) => passes(log, filter));
  } catch (error) {
    throw hasNoReceipts(error) ? new MisnamedBlock(block.number, error) : error;
  }
};

const placeOf = ({ txHash, logIndex }: Pick<ChainLog, 'txHash' | 'logIndex'>): string =>
  `${txHash}/${String(logIndex)}`;
