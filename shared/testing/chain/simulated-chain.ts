import { bloomOf } from '../../chain/bloom.ts';
import type { BlockHeader, ChainLog } from '../../chain/chain-reader.ts';
import { ForkingChain, linkTo, type Branch as BranchOf } from './forking-chain.ts';

export type LogToMine = Pick<ChainLog, 'address' | 'topics' | 'data'>;

export interface SimulatedBlock {
  readonly header: BlockHeader;
  readonly logs: readonly ChainLog[];
}
export type Branch = BranchOf<SimulatedBlock>;

interface Options {
  readonly chainId: number;
  readonly finalDepth: number;
  /** Returns hashes of blocks and transactions, each of them new. */
  readonly hash: () => string;
  /** Unix seconds. A block is always younger than its parent. */
  readonly time: () => number;
  /** Logs that the next block has in its bloom only. */
  readonly announced?: () => readonly LogToMine[];
  readonly logsOfTransaction?: number;
}

/** A tree of blocks with logs, one branch of which is the chain. */
export class SimulatedChain extends ForkingChain<SimulatedBlock> {
  /** Every block that there ever was. */
  readonly byHash = new Map<string, SimulatedBlock>();
  readonly byTransaction = new Map<string, SimulatedBlock>();

  constructor(readonly options: Options) {
    super(options.finalDepth);
    this.extend([]);
  }

  get tip(): BlockHeader {
    return this.newest.header;
  }

  /** Mines a block. */
  extend(logs: readonly LogToMine[]): BlockHeader {
    const block = this.childOf(this.canonical.at(-1), logs);
    this.add(block);
    return block.header;
  }

  /** Makes a block that follows another one on any branch. */
  childOf(parent: SimulatedBlock | undefined, logs: readonly LogToMine[]): SimulatedBlock {
    const { hash, time, announced, logsOfTransaction = 2 } = this.options;
    const link = linkTo(parent?.header, hash());
    const timestamp = Math.max(time(), (parent?.header.timestamp ?? 0) + 1);
    const header = { ...link, timestamp, logsBloom: knownBloomOf([...logs, ...(announced?.() ?? [])]) };
    const transactions = Array.from({ length: Math.ceil(logs.length / logsOfTransaction) }, hash);
    const ofBlock = { blockNumber: link.number, blockHash: link.hash, blockTimestamp: timestamp };
    const mined = logs.map((log, logIndex) => {
      const txIndex = Math.floor(logIndex / logsOfTransaction);
      return { ...log, ...ofBlock, txHash: transactions[txIndex] ?? '', txIndex, logIndex };
    });
    const block = { header, logs: mined };
    this.byHash.set(header.hash, block);
    for (const transaction of transactions) this.byTransaction.set(transaction, block);
    return block;
  }
}

/** Computed once: the logs of all seeds have few addresses and topics. */
const blooms = new Map<string, string>();
const knownBloomOf = (logs: readonly LogToMine[]): string => {
  const key = [...new Set(logs.map(({ address, topics }) => `${address}/${topics.join('/')}`))].sort().join();
  const known = blooms.get(key) ?? bloomOf(logs);
  blooms.set(key, known);
  return known;
};
