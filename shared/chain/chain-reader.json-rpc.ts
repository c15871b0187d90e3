import type { WatchedProxy } from '../../schemas/events/watch-events.ts';
import { BLOOM_OF_EVERYTHING, bloomOf, isPartOfBloom } from './bloom.ts';
import {
  ChainUnavailable,
  FinalizedContradicted,
  StateUnavailable,
  type BlockHeader,
  type BlockOfLogs,
  type ChainLog,
  type ChainReader,
  type LogFilter,
  type LogsAgain,
  type ReceiptLogs,
} from './chain-reader.ts';
import { InvalidAnswer } from './checked-answers.ts';
import { askProxy } from './eip-1967.ts';
import { askHead, askHeadAndFinalized, askHeaderByHash, askHeaders, quantity } from './header-requests.ts';
import { NoAnswer, type JsonRpcEndpoint } from './json-rpc-endpoint.ts';
import { JsonRpcEndpoints, type EndpointLimits } from './json-rpc-endpoints.ts';
import { together } from './logs-again.ts';
import { logsOfBlock, receiptsOfBlock } from './logs-of-block.ts';
import { logsOfRange } from './logs-of-range.ts';

const FINALIZED = 'the finalized block';
/** How many endpoints are asked for logs again, where there are as many. */
const ASKED_AGAIN = 2;

export interface ChainReaderOptions extends EndpointLimits {
  /** `false` where headers' blooms leave out logs. */
  bloom?: boolean | undefined;
  /** Called once, when a log is found that its header's bloom leaves out. */
  onBloomOmission?: () => void;
}

/** Reads a chain through its JSON-RPC endpoints. */
export class JsonRpcChainReader implements ChainReader {
  private readonly endpoints: JsonRpcEndpoints;
  private readonly onBloomOmission: () => void;
  private areBloomsUsed: boolean;
  private newestFinalized: BlockHeader | undefined;
  private wasFinalizedAskedFor = false;

  constructor(
    readonly chainId: number,
    urls: readonly string[],
    { bloom = true, onBloomOmission = () => undefined, ...limits }: ChainReaderOptions = {},
  ) {
    this.endpoints = new JsonRpcEndpoints(chainId, urls, limits);
    this.areBloomsUsed = bloom;
    this.onBloomOmission = onBloomOmission;
  }

  async head(): Promise<BlockHeader> {
    return this.withUsableBloom(await this.endpoints.ask('the head', (endpoint) => askHead(endpoint, this.chainId)));
  }

  async headAndFinalized(): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }> {
    let isContradicted = false;
    const read = async (endpoint: JsonRpcEndpoint) => {
      const found = await askHeadAndFinalized(endpoint, this.chainId);
      const { number, hash } = found.finalized ?? {};
      if (number === this.newestFinalized?.number && hash !== this.newestFinalized?.hash) {
        isContradicted = true;
        throw new InvalidAnswer('the finalized block is another one than before');
      }
      return found;
    };
    const found = await this.endpoints.ask(FINALIZED, read).catch((error: unknown) => {
      throw isContradicted && error instanceof ChainUnavailable ? new FinalizedContradicted(error.message) : error;
    });
    // Another one may have what this endpoint has not, or has not yet after its own start.
    const isMissing = !found.finalized && (this.newestFinalized !== undefined || !this.wasFinalizedAskedFor);
    this.wasFinalizedAskedFor = true;
    const all = isMissing
      ? await this.endpoints.askSeveral(FINALIZED, read, { range: undefined, enough: Infinity })
      : [found];
    this.newestFinalized = this.newestUpTo(
      found.head,
      all.map(({ finalized }) => finalized),
    );
    return { head: this.withUsableBloom(found.head), finalized: this.newestFinalized };
  }

  async headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]> {
    if (numbers.length === 0) return [];
    const headers = await this.endpoints.ask('headers', (endpoint) => askHeaders(endpoint, numbers));
    return headers.map((header) => header && this.withUsableBloom(header));
  }

  async headerByHash(hash: string): Promise<BlockHeader | undefined> {
    const header = await this.endpoints.ask('a header', (endpoint) => askHeaderByHash(endpoint, hash));
    return header && this.withUsableBloom(header);
  }

  async logsOfBlock(block: BlockOfLogs, filter: LogFilter, chosenFrom?: number): Promise<ChainLog[]> {
    const logs = await this.endpoints.ask(`logs of block ${String(block.number)}`, (endpoint) =>
      logsOfBlock(endpoint, this.withUsableBloom(block), filter, chosenFrom),
    );
    this.compareWithBloom(block, logs);
    return logs;
  }

  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]> {
    const range = { from, to };
    return this.endpoints.ask(
      `logs of blocks ${String(from)} to ${String(to)}`,
      (endpoint) => logsOfRange(endpoint, range, filter),
      { range },
    );
  }

  async logsAgain(from: number, to: number, filter: LogFilter): Promise<LogsAgain> {
    const range = { from, to };
    const read = (endpoint: JsonRpcEndpoint) => logsOfRange(endpoint, range, filter);
    const what = `logs of blocks ${String(from)} to ${String(to)}`;
    return together(await this.endpoints.askSeveral(what, read, { range, enough: ASKED_AGAIN }));
  }

  receiptsOfBlock(block: BlockOfLogs): Promise<ReceiptLogs> {
    return this.endpoints.ask(`receipts of block ${String(block.number)}`, (endpoint) =>
      receiptsOfBlock(endpoint, this.withUsableBloom(block)),
    );
  }

  get usesBlooms(): boolean {
    return this.areBloomsUsed;
  }

  compareWithBloom({ logsBloom }: Pick<BlockHeader, 'logsBloom'>, logs: readonly ChainLog[]): void {
    if (!this.areBloomsUsed || isPartOfBloom(bloomOf(logs), logsBloom)) return;
    this.areBloomsUsed = false;
    this.onBloomOmission();
  }

  hasCode(address: string, block?: number): Promise<boolean> {
    return this.endpoints.ask('code', async (endpoint) => {
      const at = block === undefined ? 'latest' : quantity(block);
      const [answer] = await endpoint
        .call([{ method: 'eth_getCode', params: [address, at] }])
        .catch((error: unknown) => {
          throw block !== undefined && isForgotten(error, block, endpoint)
            ? new StateUnavailable(error.message)
            : error;
        });
      if (typeof answer !== 'string' || !answer.startsWith('0x')) throw new InvalidAnswer('code is not hex');
      return answer.length > '0x'.length;
    });
  }

  proxyOf(address: string): Promise<WatchedProxy | null> {
    return this.endpoints.ask('a proxy', (endpoint) => askProxy(endpoint, address));
  }

  close(): void {
    this.endpoints.close();
  }

  /**
   * A provider that lags, or forgets, takes nothing back, but for what no chain with this head can have: then one of the two is
   * of another chain, or the head is far behind.
   */
  private newestUpTo(head: BlockHeader, found: readonly (BlockHeader | undefined)[]): BlockHeader | undefined {
    const known = [this.newestFinalized, ...found].filter((finalized) => finalized !== undefined);
    const possible = known.filter(({ number }) => number <= head.number);
    if (known.length > 0 && possible.length === 0)
      throw new ChainUnavailable(`no provider of chain ${String(this.chainId)} has a finalized block up to its head`);
    return possible.toSorted((left, right) => left.number - right.number).at(-1);
  }

  private withUsableBloom<WithBloom extends BlockOfLogs>(block: WithBloom): WithBloom {
    return this.areBloomsUsed ? block : { ...block, logsBloom: BLOOM_OF_EVERYTHING };
  }
}

/** Nodes also say of an old block whose state they forgot that there is no such block. */
const isForgotten = (error: unknown, block: number, { head }: JsonRpcEndpoint): error is NoAnswer =>
  error instanceof NoAnswer &&
  (error.why.kind === 'state-pruned' || (error.why.kind === 'beyond-head' && block <= (head?.number ?? -1)));
