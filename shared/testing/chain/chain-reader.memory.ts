import type { WatchedProxy } from '../../schemas/events/watch-events.ts';
import { sha256 } from '../primitives/ids.ts';
import { bloomOf, isPartOfBloom } from './bloom.ts';
import {
  ChainUnavailable,
  type BlockHeader,
  type ChainLog,
  type ChainReader,
  type LogFilter,
  type LogsAgain,
  type ReceiptLogs,
} from './chain-reader.ts';
import { passes } from './log-filter.ts';

export type LogToMine = Pick<ChainLog, 'address' | 'topics' | 'data'>;

interface Block {
  header: BlockHeader;
  logs: ChainLog[];
}

/** A chain for tests. Blocks are mined and reverted at will. */
export class MemoryChain implements ChainReader {
  private readonly canonical: Block[] = [];
  private readonly byHash = new Map<string, Block>();
  private forks = 0;
  /** Method names in the order of the calls. */
  readonly calls: string[] = [];
  /** How far the finalized block is behind the highest tip that there was. Without it there is none. */
  finalizedDepth: number | undefined;
  private highest = 0;
  /** By address. */
  readonly proxies = new Map<string, WatchedProxy>();

  constructor(readonly chainId: number) {
    this.mine([]);
  }

  get tip(): BlockHeader {
    const block = this.canonical.at(-1);
    if (!block) throw new Error('a chain has a genesis block');
    return block.header;
  }

  /** The headers of the canonical chain. */
  get headers(): BlockHeader[] {
    return this.canonical.map(({ header }) => header);
  }

  /** All logs of the canonical chain. */
  get logs(): ChainLog[] {
    return this.canonical.flatMap(({ logs }) => logs);
  }

  mine(logs: readonly LogToMine[]): BlockHeader {
    const number = this.canonical.length;
    const parentHash = this.canonical.at(-1)?.header.hash ?? `0x${'0'.repeat(64)}`;
    const hash = `0x${sha256(JSON.stringify([parentHash, number, this.forks, logs]))}`;
    const timestamp = 1_700_000_000 + number;
    const header = { number, hash, parentHash, timestamp, logsBloom: bloomOf(logs) };
    const mined = logs.map((log, logIndex) => ({
      ...log,
      blockNumber: number,
      blockHash: hash,
      blockTimestamp: timestamp,
      txHash: `0x${sha256(`${hash}${String(logIndex)}`)}`,
      txIndex: logIndex,
      logIndex,
    }));
    const block = { header, logs: mined };
    this.highest = Math.max(this.highest, number);
    this.canonical.push(block);
    this.byHash.set(hash, block);
    return header;
  }

  /**
   * Reverts the newest blocks. Blocks mined afterwards have other hashes. The returned function restores the old ones.
   */
  rollBack(depth: number): () => void {
    const taken = this.canonical.splice(this.canonical.length - depth, depth);
    this.forks += 1;
    return () => {
      this.canonical.splice(taken[0]?.header.number ?? 0, Infinity, ...taken);
    };
  }

  head(): Promise<BlockHeader> {
    this.calls.push('head');
    return Promise.resolve(this.tip);
  }

  headAndFinalized(): Promise<{ head: BlockHeader; finalized: BlockHeader | undefined }> {
    this.calls.push('headAndFinalized');
    const { finalizedDepth: depth, tip: head } = this;
    const finalized = depth === undefined ? undefined : this.canonical[Math.max(0, this.highest - depth)]?.header;
    return Promise.resolve({ head, finalized });
  }

  forgetFinalized(): void {
    this.calls.push('forgetFinalized');
  }

  headersByNumber(numbers: readonly number[]): Promise<(BlockHeader | undefined)[]> {
    this.calls.push('headersByNumber');
    return Promise.resolve(numbers.map((number) => this.canonical[number]?.header));
  }

  headerByHash(hash: string): Promise<BlockHeader | undefined> {
    this.calls.push('headerByHash');
    return Promise.resolve(this.byHash.get(hash)?.header);
  }

  logsOfBlock({ hash }: Pick<BlockHeader, 'hash'>, filter: LogFilter): Promise<ChainLog[]> {
    this.calls.push('logsOfBlock');
    const block = this.byHash.get(hash);
    if (!block) return Promise.reject(new ChainUnavailable('unknown block'));
    return Promise.resolve(block.logs.filter((log) => passes(log, filter)));
  }

  logsOfRange(from: number, to: number, filter: LogFilter): Promise<ChainLog[]> {
    this.calls.push('logsOfRange');
    if (to > this.tip.number) return Promise.reject(new ChainUnavailable('the last block does not exist yet'));
    const blocks = this.canonical.slice(from, to + 1);
    return Promise.resolve(blocks.flatMap(({ logs }) => logs).filter((log) => passes(log, filter)));
  }

  async logsAgain(from: number, to: number, filter: LogFilter): Promise<LogsAgain> {
    return { logs: await this.logsOfRange(from, to, filter), disputed: [], endpoints: 1 };
  }

  receiptsOfBlock({ hash }: Pick<BlockHeader, 'hash'>): Promise<ReceiptLogs> {
    this.calls.push('receiptsOfBlock');
    const block = this.byHash.get(hash);
    if (!block) return Promise.reject(new ChainUnavailable('unknown block'));
    return Promise.resolve({ logs: block.logs, txHashes: new Set(block.logs.map(({ txHash }) => txHash)) });
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
    this.byHash.clear();
  }
}
