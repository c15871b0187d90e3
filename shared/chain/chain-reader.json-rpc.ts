import { BLOOM_OF_EVERYTHING, bloomMayPass, bloomOf, isPartOfBloom } from './bloom.ts';
import type { RpcCall } from './answer-limits.ts';
import {
  RangeTooLarge,
  StateUnavailable,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
} from './chain-reader.ts';
import { checkHeader, checkLogs, InvalidAnswer } from './checked-answers.ts';
import { NoAnswer, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { JsonRpcEndpoints, type EndpointLimits } from './json-rpc-endpoints.ts';
import { passes } from './log-filter.ts';
import { saysStateUnavailable } from './rpc-refusals.ts';

type Block = Pick<BlockHeader, 'hash' | 'number' | 'logsBloom'>;

const quantity = (value: number): string => `0x${value.toString(16)}`;
const blockByNumber = (number: number): RpcCall => ({
  method: 'eth_getBlockByNumber',
  params: [quantity(number), false],
});
const getLogs = (blocks: object, { addresses, topics }: LogFilter): RpcCall => ({
  method: 'eth_getLogs',
  params: [
    {
      ...blocks,
      ...(addresses.length > 0 ? { address: addresses } : {}),
      ...(topics.length > 0 ? { topics: [topics] } : {}),
    },
  ],
});

/** Reads a chain through its JSON-RPC endpoints. */
export class JsonRpcChainReader implements ChainReader {
  private readonly endpoints: JsonRpcEndpoints;

  constructor(
    readonly chainId: number,
    urls: readonly string[],
    limits: EndpointLimits = {},
  ) {
    this.endpoints = new JsonRpcEndpoints(chainId, urls, limits);
  }

  head(): Promise<BlockHeader> {
    return this.endpoints.ask('the head', async (endpoint) => {
      const [answer] = await endpoint.call([{ method: 'eth_getBlockByNumber', params: ['latest', false] }]);
      const header = checkHeader(answer);
      if (!header) throw new InvalidAnswer('there is no latest block');
      return header;
    });
  }

  async headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]> {
    if (numbers.length === 0) return [];
    return this.endpoints.ask('headers', async (endpoint) => {
      const answers = await endpoint.call(numbers.map(blockByNumber));
      return answers.map((answer, at) => headerOf(answer, ({ number }) => number === numbers[at]));
    });
  }

  headerByHash(hash: string): Promise<BlockHeader | undefined> {
    return this.endpoints.ask('a header', async (endpoint) => {
      const [answer] = await endpoint.call([{ method: 'eth_getBlockByHash', params: [hash, false] }]);
      return headerOf(answer, (header) => header.hash === hash);
    });
  }

  logsOfBlock(block: Block, filter: LogFilter): Promise<ChainLog[]> {
    return this.endpoints.ask(`logs of block ${String(block.number)}`, async (endpoint) => {
      const logs = await logsOf(endpoint, block, filter);
      const isClaimed = block.logsBloom !== BLOOM_OF_EVERYTHING && bloomMayPass(block.logsBloom, filter);
      if (logs.length > 0 || !isClaimed) return logs;
      const all = await logsOf(endpoint, block, { addresses: [], topics: [] });
      // Some chains have logs that their blooms omit (Polygon's state syncs). No chain has bloom bits without a log.
      if (!isPartOfBloom(block.logsBloom, bloomOf(all)))
        throw new InvalidAnswer('logs that the bloom announces are missing');
      return all.filter((log) => passes(log, filter));
    });
  }

  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]> {
    const blocks = { fromBlock: quantity(from), toBlock: quantity(to) };
    return this.endpoints.ask(`logs of blocks ${String(from)} to ${String(to)}`, async (endpoint) => {
      const [logs, last] = await endpoint
        .call([getLogs(blocks, filter), blockByNumber(to)])
        .catch(async (error: unknown) => {
          throw (await isTooMuch(endpoint, error)) ? new RangeTooLarge((error as NoAnswer).message) : error;
        });
      if (!headerOf(last, ({ number }) => number === to)) throw new InvalidAnswer('the last block does not exist yet');
      return checkLogs(logs, { ...filter, from, to });
    });
  }

  hasCode(address: string, block?: number): Promise<boolean> {
    return this.endpoints.ask('code', async (endpoint) => {
      const at = block === undefined ? 'latest' : quantity(block);
      const [answer] = await endpoint
        .call([{ method: 'eth_getCode', params: [address, at] }])
        .catch((error: unknown) => {
          const isForgotten = block !== undefined && error instanceof NoAnswer && saysStateUnavailable(error.message);
          throw isForgotten ? new StateUnavailable(error.message) : error;
        });
      if (typeof answer !== 'string' || !answer.startsWith('0x')) throw new InvalidAnswer('code is not hex');
      return answer.length > '0x'.length;
    });
  }

  close(): void {
    this.endpoints.close();
  }
}

const headerOf = (answer: unknown, isAsked: (header: BlockHeader) => boolean): BlockHeader | undefined => {
  const header = checkHeader(answer);
  if (header && !isAsked(header)) throw new InvalidAnswer('the header is of another block');
  return header;
};

const logsOf = async (endpoint: JsonRpcEndpoint, { hash, number }: Block, filter: LogFilter): Promise<ChainLog[]> => {
  const [answer] = await endpoint.call([getLogs({ blockHash: hash }, filter)]);
  return checkLogs(answer, { ...filter, from: number, to: number, blockHash: hash });
};

/** An endpoint that is too slow for a range, but answers a small request at once, was asked for too much. */
const isTooMuch = async (endpoint: JsonRpcEndpoint, error: unknown): Promise<boolean> => {
  if (!(error instanceof NoAnswer)) return false;
  if (error.reason !== 'too-slow') return error.reason === 'too-much';
  return endpoint.call([{ method: 'eth_chainId', params: [] }]).then(
    () => true,
    () => false,
  );
};
