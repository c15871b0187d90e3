import type { WatchedProxy } from '../../../schemas/events/event-catcher/watch-events.ts';
import { BLOOM_OF_EVERYTHING, bloomOf, isPartOfBloom } from '../bloom.ts';
import {
  ChainUnavailable,
  FinalizedContradicted,
  StateUnavailable,
  type BlockHeader,
  type BlockOfLogs,
  type ChainLog,
  type ChainReader,
  type LogFilter,
  type CrossCheckedLogs,
  type ReadingOfBlock,
  type ReceiptLogs,
} from '../chain-reader.ts';
import { InvalidAnswer } from './answers/checked-answers.ts';
import { askProxy } from '../state/eip-1967.ts';
import {
  askHead,
  askHeadAndFinalized,
  askHeaderByHash,
  askHeaders,
  quantity,
  type FinalName,
} from './header-requests.ts';
import type { JsonRpcEndpoint } from './endpoints/json-rpc-endpoint.ts';
import { NoAnswer } from './endpoints/no-answer.ts';
import type { ChainClient } from './chain-client.ts';
import { mergeAnswers } from './logs/cross-checked-logs.ts';
import { logsOfBlock } from './logs/logs-of-block.ts';
import { logsOfRange } from './logs/logs-of-range.ts';
import { OverstatedBloom, receiptsOfBlock } from './logs/receipts-of-block.ts';

const OMITTING = 'a log is not in the bloom of its block';
const OVERSTATED = 'the bloom of a block announces logs that are not in its receipts';
const FINALIZED = 'the finalized block';
/** How many endpoints `logsAgain` reads from, if there are as many. */
const ASKED_AGAIN = 2;

export interface ChainReaderOptions {
  /** `false` for a chain whose header blooms do not match its logs. */
  bloom?: boolean | undefined;
  /** The block name by which the newest final block is requested. */
  finalName?: FinalName;
  /** Called once, when a block's bloom does not match its logs, with a description. */
  onFalseBloom?: (what: string) => void;
}

/** Reads a chain through its JSON-RPC endpoints. */
export class JsonRpcChainReader implements ChainReader {
  private readonly onFalseBloom: (what: string) => void;
  private readonly finalName: FinalName;
  private areBloomsUsed: boolean;
  private newestFinalized: BlockHeader | undefined;
  private wasFinalizedAskedFor = false;

  constructor(
    private readonly client: ChainClient,
    { bloom = true, finalName = 'finalized', onFalseBloom = () => undefined }: ChainReaderOptions = {},
  ) {
    this.finalName = finalName;
    this.areBloomsUsed = bloom;
    this.onFalseBloom = onFalseBloom;
  }

  get chainId(): number {
    return this.client.chainId;
  }

  async head(): Promise<BlockHeader> {
    return this.withUsableBloom(await this.client.ask('the head', (endpoint) => askHead(endpoint, this.chainId)));
  }

  async headAndFinalized(): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }> {
    let isContradicted = false;
    const read = async (endpoint: JsonRpcEndpoint) => {
      const found = await askHeadAndFinalized(endpoint, this.chainId, this.finalName);
      const { number, hash } = found.finalized ?? {};
      if (number === this.newestFinalized?.number && hash !== this.newestFinalized?.hash) {
        isContradicted = true;
        throw new InvalidAnswer('the finalized block differs from the one before');
      }
      return found;
    };
    const found = await this.client.ask(FINALIZED, read).catch((error: unknown) => {
      throw isContradicted && error instanceof ChainUnavailable ? new FinalizedContradicted(error.message) : error;
    });
    // Ask the other endpoints too: this one may lack a finalized block that another has, or may not have it yet after
    // its start.
    const isMissing = !found.finalized && (this.newestFinalized !== undefined || !this.wasFinalizedAskedFor);
    this.wasFinalizedAskedFor = true;
    const all = isMissing ? await this.client.askSeveral(FINALIZED, read, { enough: Infinity }) : [found];
    this.newestFinalized = this.newestUpTo(
      found.head,
      all.map(({ finalized }) => finalized),
    );
    return { head: this.withUsableBloom(found.head), finalized: this.newestFinalized };
  }

  forgetFinalized(): void {
    this.newestFinalized = undefined;
  }

  async headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]> {
    if (numbers.length === 0) return [];
    const headers = await this.client.ask('headers', (endpoint) => askHeaders(endpoint, numbers));
    return headers.map((header) => header && this.withUsableBloom(header));
  }

  async headerByHash(hash: string): Promise<BlockHeader | undefined> {
    const header = await this.client.ask('a header', (endpoint) => askHeaderByHash(endpoint, hash));
    return header && this.withUsableBloom(header);
  }

  async logsOfBlock(block: BlockHeader, filter: LogFilter, how?: ReadingOfBlock): Promise<ChainLog[]> {
    const logs = await this.askOfBlock('logs', block, (endpoint, usable) => logsOfBlock(endpoint, usable, filter, how));
    this.compareWithBloom(block, logs);
    return logs;
  }

  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]> {
    const range = { from, to };
    return this.client.ask(
      `logs of blocks ${String(from)} to ${String(to)}`,
      (endpoint) => logsOfRange(endpoint, range, filter),
      { range },
    );
  }

  async crossCheckedLogs(from: number, to: number, filter: LogFilter): Promise<CrossCheckedLogs> {
    const range = { from, to };
    const read = (endpoint: JsonRpcEndpoint) => logsOfRange(endpoint, range, filter, true);
    const what = `logs of blocks ${String(from)} to ${String(to)}`;
    return mergeAnswers(await this.client.askSeveral(what, read, { range, enough: ASKED_AGAIN }));
  }

  receiptsOfBlock(block: BlockOfLogs): Promise<ReceiptLogs> {
    return this.askOfBlock('receipts', block, receiptsOfBlock);
  }

  get usesBlooms(): boolean {
    return this.areBloomsUsed;
  }

  compareWithBloom({ logsBloom }: Pick<BlockHeader, 'logsBloom'>, logs: readonly ChainLog[]): void {
    if (this.areBloomsUsed && !isPartOfBloom(bloomOf(logs), logsBloom)) this.giveUpBlooms(OMITTING);
  }

  hasCode(address: string, block?: number): Promise<boolean> {
    return this.client.ask('code', async (endpoint) => {
      const at = block === undefined ? 'latest' : quantity(block);
      const [answer] = await endpoint
        .call([{ method: 'eth_getCode', params: [address, at] }])
        .catch((error: unknown) => {
          throw block !== undefined && isForgotten(error, block, endpoint)
            ? new StateUnavailable(error.message)
            : error;
        });
      if (typeof answer !== 'string' || !answer.startsWith('0x')) throw new InvalidAnswer('code is not hex');
      // Some nodes send empty code as a quantity.
      return !/^0x0?$/.test(answer);
    });
  }

  proxyOf(address: string): Promise<WatchedProxy | null> {
    return this.client.ask('a proxy', (endpoint) => askProxy(endpoint, address));
  }

  close(): void {
    this.client.close();
  }

  /**
   * Returns the newest finalized block so far, so that a lagging provider does not move finality back. Ignores blocks
   * above the head. If only such blocks remain, a provider serves another chain, or the head lags far behind.
   */
  private newestUpTo(head: BlockHeader, found: readonly (BlockHeader | undefined)[]): BlockHeader | undefined {
    const known = [this.newestFinalized, ...found].filter((finalized) => finalized !== undefined);
    const possible = known.filter(({ number }) => number <= head.number);
    if (known.length > 0 && possible.length === 0)
      throw new ChainUnavailable(`no provider of chain ${String(this.chainId)} has a finalized block up to its head`);
    return possible.toSorted((left, right) => left.number - right.number).at(-1);
  }

  /**
   * Asks about one block. If no endpoint has logs that explain its bloom, and one proves that the bloom has bits of no
   * log, asks again without the bloom.
   */
  private async askOfBlock<Block extends BlockOfLogs, Answer>(
    what: string,
    block: Block,
    read: (endpoint: JsonRpcEndpoint, block: Block) => Promise<Answer>,
  ): Promise<Answer> {
    let isOverstated = false;
    const ask = () =>
      this.client.ask(`${what} of block ${String(block.number)}`, (endpoint) =>
        read(endpoint, this.withUsableBloom(block)).catch((error: unknown) => {
          isOverstated ||= error instanceof OverstatedBloom;
          throw error;
        }),
      );
    return ask().catch((error: unknown) => {
      if (!isOverstated || !(error instanceof ChainUnavailable)) throw error;
      this.giveUpBlooms(OVERSTATED);
      return ask();
    });
  }

  private giveUpBlooms(what: string): void {
    if (!this.areBloomsUsed) return;
    this.areBloomsUsed = false;
    this.onFalseBloom(what);
  }

  private withUsableBloom<WithBloom extends BlockOfLogs>(block: WithBloom): WithBloom {
    return this.areBloomsUsed ? block : { ...block, logsBloom: BLOOM_OF_EVERYTHING };
  }
}

/** For an old block whose state it has pruned, a node may also say that there is no such block. */
const isForgotten = (error: unknown, block: number, { head }: JsonRpcEndpoint): error is NoAnswer =>
  error instanceof NoAnswer &&
  (error.why.kind === 'state-pruned' || (error.why.kind === 'beyond-head' && block <= (head?.number ?? -1)));
