import type { WatchedProxy } from '../../../schemas/events/event-catcher/watch-events.ts';
import { sha256 } from '../../primitives/ids.ts';
import { bloomOf, isPartOfBloom } from '../../chain/bloom.ts';
import {
  ChainUnavailable,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
  type CrossCheckedLogs,
  type ReceiptLogs,
} from '../../chain/chain-reader.ts';
import { passes } from '../../chain/log-filter.ts';
import { SimulatedChain, type LogToMine } from './simulated-chain.ts';

const GENESIS_TIME = 1_700_000_000;

/** Distinguishes the hashes of all chains and blocks of a spec. */
let hashes = 0;

/** A chain for tests, which mine and revert blocks at will. */
export class MemoryChain implements ChainReader {
  private readonly blocks: SimulatedChain;
  /** Method names in the order of the calls. */
  readonly calls: string[] = [];
  /** Distance of the finalized block from the highest tip so far. Default: there is no finalized block. */
  finalizedDepth: number | undefined;
  /** Proxies by address. */
  readonly proxies = new Map<string, WatchedProxy>();

  constructor(readonly chainId: number) {
    const hash = () => `0x${sha256(String((hashes += 1)))}`;
    const time = () => GENESIS_TIME;
    this.blocks = new SimulatedChain({ chainId, finalDepth: 0, hash, time, logsOfTransaction: 1 });
  }

  get tip(): BlockHeader {
    return this.blocks.tip;
  }

  /** The headers of the canonical chain. */
  get headers(): BlockHeader[] {
    return this.blocks.canonical.map(({ header }) => header);
  }

  /** All logs of the canonical chain. */
  get logs(): ChainLog[] {
    return this.blocks.canonical.flatMap(({ logs }) => logs);
  }

  mine(logs: readonly LogToMine[]): BlockHeader {
    return this.blocks.extend(logs);
  }

  /**
   * Reverts the newest blocks, the first one too if it is among them. Blocks mined afterwards have other hashes. The
   * returned function restores the old ones.
   */
  rollBack(depth: number): () => void {
    const before = this.blocks.canonical;
    this.blocks.drop(depth);
    return () => {
      this.blocks.become(before);
    };
  }

  head(): Promise<BlockHeader> {
    this.calls.push('head');
    return Promise.resolve(this.tip);
  }

  headAndFinalized(): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }> {
    this.calls.push('headAndFinalized');
    const { finalizedDepth, tip: head, blocks } = this;
    blocks.finalDepth = finalizedDepth ?? 0;
    const finalized = finalizedDepth === undefined ? undefined : blocks.canonical[blocks.finalNumber]?.header;
    return Promise.resolve({ head, finalized });
  }

  forgetFinalized(): void {
    this.calls.push('forgetFinalized');
  }

  headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]> {
    this.calls.push('headersByNumber');
    return Promise.resolve(numbers.map((number) => this.blocks.canonical[number]?.header));
  }

  headerByHash(hash: string): Promise<BlockHeader | undefined> {
    this.calls.push('headerByHash');
    return Promise.resolve(this.blocks.byHash.get(hash)?.header);
  }

  logsOfBlock({ hash }: Pick<BlockHeader, 'hash'>, filter: LogFilter): Promise<ChainLog[]> {
    this.calls.push('logsOfBlock');
    const block = this.blocks.byHash.get(hash);
    if (!block) return Promise.reject(new ChainUnavailable('unknown block'));
    return Promise.resolve(block.logs.filter((log) => passes(log, filter)));
  }

  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]> {
    this.calls.push('logsOfRange');
    if (to > this.tip.number) return Promise.reject(new ChainUnavailable('the last block does not exist yet'));
    const blocks = this.blocks.canonical.slice(from, to + 1);
    return Promise.resolve(blocks.flatMap(({ logs }) => logs).filter((log) => passes(log, filter)));
  }

  async crossCheckedLogs(from: number, to: number, filter: LogFilter): Promise<CrossCheckedLogs> {
    return { logs: await this.logsOfRange(from, to, filter), disputed: [], endpoints: 1 };
  }

  receiptsOfBlock({ hash }: Pick<BlockHeader, 'hash'>): Promise<ReceiptLogs> {
    this.calls.push('receiptsOfBlock');
    const block = this.blocks.byHash.get(hash);
    if (!block) return Promise.reject(new ChainUnavailable('unknown block'));
    return Promise.resolve({ logs: [...block.logs], txHashes: new Set(block.logs.map(({ txHash }) => txHash)) });
  }

  readonly usesBlooms = true;

  compareWithBloom({ logsBloom }: Pick<BlockHeader, 'logsBloom'>, logs: readonly ChainLog[]): void {
    if (!isPartOfBloom(bloomOf(logs), logsBloom)) throw new Error('a bloom of this chain leaves out no log');
  }

  hasCode(): Promise<boolean> {
    return Promise.resolve(true);
  }

  proxyOf(address: string): Promise<WatchedProxy | null> {
    return Promise.resolve(this.proxies.get(address) ?? null);
  }

  close(): void {
    this.blocks.byHash.clear();
  }
}
