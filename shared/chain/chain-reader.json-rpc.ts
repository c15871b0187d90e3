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
import { NoAnswer, type CallOutcome, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { JsonRpcEndpoints, type EndpointLimits } from './json-rpc-endpoints.ts';
import { passes } from './log-filter.ts';
import { askLogs, quantity } from './log-requests.ts';
import { refusalOf } from './rpc-refusals.ts';
import { halfRange, type BlockRange } from './suggested-range.ts';

type Block = Pick<BlockHeader, 'hash' | 'number' | 'logsBloom'>;

const blockByName = (name: 'latest' | 'finalized'): RpcCall => ({
  method: 'eth_getBlockByNumber',
  params: [name, false],
});
const blockByNumber = (number: number): RpcCall => ({
  method: 'eth_getBlockByNumber',
  params: [quantity(number), false],
});

/** Reads a chain through its JSON-RPC endpoints. */
export class JsonRpcChainReader implements ChainReader {
  private readonly endpoints: JsonRpcEndpoints;
  private newestFinalized: BlockHeader | undefined;

  constructor(
    readonly chainId: number,
    urls: readonly string[],
    limits: EndpointLimits = {},
  ) {
    this.endpoints = new JsonRpcEndpoints(chainId, urls, limits);
  }

  head(): Promise<BlockHeader> {
    return this.endpoints.ask('the head', async (endpoint) => {
      const [answer] = await endpoint.call([blockByName('latest')]);
      const header = checkHeader(answer);
      if (!header) throw new InvalidAnswer('there is no latest block');
      return header;
    });
  }

  async finalized(): Promise<BlockHeader | undefined> {
    const found = await this.endpoints.ask('the finalized block', async (endpoint) => {
      const header = await finalizedOf(endpoint);
      if (header?.number === this.newestFinalized?.number && header?.hash !== this.newestFinalized?.hash) {
        throw new InvalidAnswer('the finalized block is another one than before');
      }
      return header;
    });
    // A provider that lags, or forgets, takes nothing back.
    if (found && found.number > (this.newestFinalized?.number ?? -1)) this.newestFinalized = found;
    return this.newestFinalized;
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
    return this.endpoints.ask(`logs of blocks ${String(from)} to ${String(to)}`, async (endpoint) => {
      const { logs, others } = await askLogs(endpoint, { from, to }, filter, [blockByNumber(to)]).catch(
        async (error: unknown) => {
          throw (await tooLarge(endpoint, error, { from, to })) ?? error;
        },
      );
      if (!headerOf(others[0], ({ number }) => number === to))
        throw new InvalidAnswer('the last block does not exist yet');
      return checkLogs(logs, { ...filter, from, to });
    });
  }

  hasCode(address: string, block?: number): Promise<boolean> {
    return this.endpoints.ask('code', async (endpoint) => {
      const at = block === undefined ? 'latest' : quantity(block);
      const [answer] = await endpoint
        .call([{ method: 'eth_getCode', params: [address, at] }])
        .catch((error: unknown) => {
          const isForgotten = block !== undefined && error instanceof NoAnswer && error.why.kind === 'state-pruned';
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

/** With the head, because no block after it is final. */
const finalizedOf = async (endpoint: JsonRpcEndpoint): Promise<BlockHeader | undefined> => {
  const [latest, finalized] = await endpoint.tryCall([blockByName('latest'), blockByName('finalized')]);
  const head = checkHeader(resultOf(latest));
  const header = isUnknownName(finalized) ? undefined : checkHeader(resultOf(finalized));
  if (!head) throw new InvalidAnswer('there is no latest block');
  if (header && header.number > head.number) throw new InvalidAnswer('the finalized block is newer than the head');
  return header;
};

const resultOf = (outcome: CallOutcome | undefined): unknown => {
  if (!outcome || 'result' in outcome) return outcome?.result;
  const { code, message } = outcome.error;
  throw new NoAnswer(refusalOf(message, { code }), message);
};

/** Whether a node refuses the name of a block, and not to answer at all. Nodes have no text or code in common for it. */
const isUnknownName = (outcome: CallOutcome | undefined): boolean => {
  if (!outcome || 'result' in outcome) return false;
  const { code, message } = outcome.error;
  return !['rate-limited', 'billing'].includes(refusalOf(message, { code }).kind);
};

const headerOf = (answer: unknown, isAsked: (header: BlockHeader) => boolean): BlockHeader | undefined => {
  const header = checkHeader(answer);
  if (header && !isAsked(header)) throw new InvalidAnswer('the header is of another block');
  return header;
};

const logsOf = async (endpoint: JsonRpcEndpoint, block: Block, filter: LogFilter): Promise<ChainLog[]> => {
  const { logs } = await askLogs(endpoint, block, filter);
  return checkLogs(logs, { ...filter, from: block.number, to: block.number, blockHash: block.hash });
};

/** An endpoint that is too slow for a range, but answers a small request at once, was asked for too much. */
const tooLarge = async (
  endpoint: JsonRpcEndpoint,
  error: unknown,
  asked: BlockRange,
): Promise<RangeTooLarge | undefined> => {
  if (!(error instanceof NoAnswer)) return undefined;
  const { why, message } = error;
  if (why.kind === 'range-too-large') return new RangeTooLarge(message, why);
  if (why.kind !== 'too-slow') return undefined;
  const answersAtAll = await endpoint.call([{ method: 'eth_chainId', params: [] }]).then(
    () => true,
    () => false,
  );
  return answersAtAll ? new RangeTooLarge(message, halfRange('timed out', asked)) : undefined;
};
