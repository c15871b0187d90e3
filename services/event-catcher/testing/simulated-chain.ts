import { bloomOf } from '../../../shared/chain/bloom.ts';
import type { LogToMine } from '../../../shared/chain/chain-reader.memory.ts';
import type { BlockHeader, ChainLog } from '../../../shared/chain/chain-reader.ts';
import type { SeededRandom } from '../../../shared/testing/seeded-random.ts';

export interface SimulatedBlock {
  readonly header: BlockHeader;
  readonly logs: readonly ChainLog[];
}
/** Blocks from the first one on, by their numbers. */
export type Branch = readonly SimulatedBlock[];

interface Options {
  readonly chainId: number;
  /** How far the newest final block is behind the highest one that there was. */
  readonly finalDepth: number;
  /** Logs that the next block has in its bloom only. */
  readonly announced: () => readonly LogToMine[];
}

const NO_PARENT = `0x${'0'.repeat(64)}`;
/** Two logs are of one transaction. */
const LOGS_OF_TRANSACTION = 2;

/** A tree of blocks, one branch of which is the chain. */
export class SimulatedChain {
  /** Every block that there ever was. */
  readonly byHash = new Map<string, SimulatedBlock>();
  readonly byTransaction = new Map<string, SimulatedBlock>();
  private branch: Branch = [];
  private highest = 0;

  constructor(
    readonly options: Options,
    private readonly random: SeededRandom,
    /** Unix seconds. */
    private readonly time: () => number,
  ) {
    this.extend([]);
  }

  get canonical(): Branch {
    return this.branch;
  }

  get tip(): BlockHeader {
    return tipOf(this.branch).header;
  }

  /** No block up to this one is ever replaced. */
  get finalNumber(): number {
    return Math.max(0, this.highest - this.options.finalDepth);
  }

  /** Whether a branch has the chain's newest final block, however the chain was reorganised since it left it. */
  hasFinalBlock(branch: Branch): boolean {
    return branch[this.finalNumber] === this.branch[this.finalNumber];
  }

  /** Mines a block. */
  extend(logs: readonly LogToMine[]): void {
    this.become([...this.branch, this.childOf(this.branch.at(-1), logs)]);
  }

  /** Another branch takes the place of this one. */
  become(branch: Branch): void {
    this.branch = branch;
    this.highest = Math.max(this.highest, this.tip.number);
  }

  /** Nothing is final any more, as for a development chain that starts again. */
  startAgain(): void {
    this.highest = this.tip.number;
  }

  /** Makes a block that follows another one, on whatever branch. */
  childOf(parent: SimulatedBlock | undefined, logs: readonly LogToMine[]): SimulatedBlock {
    const { random } = this;
    const number = parent ? parent.header.number + 1 : 0;
    const hash = random.hash();
    const timestamp = Math.max(this.time(), (parent?.header.timestamp ?? 0) + 1);
    const header = {
      number,
      hash,
      parentHash: parent?.header.hash ?? NO_PARENT,
      timestamp,
      logsBloom: knownBloomOf([...logs, ...this.options.announced()]),
    };
    const transactions = Array.from({ length: Math.ceil(logs.length / LOGS_OF_TRANSACTION) }, () => random.hash());
    const mined = logs.map((log, logIndex) => {
      const txIndex = Math.floor(logIndex / LOGS_OF_TRANSACTION);
      const txHash = transactions[txIndex] ?? '';
      return { ...log, blockNumber: number, blockHash: hash, blockTimestamp: timestamp, txHash, txIndex, logIndex };
    });
    const block = { header, logs: mined };
    this.byHash.set(hash, block);
    for (const transaction of transactions) this.byTransaction.set(transaction, block);
    return block;
  }
}

export const tipOf = (branch: Branch): SimulatedBlock => {
  const tip = branch.at(-1);
  if (!tip) throw new Error('a chain has a first block');
  return tip;
};

/** Logs of all seeds have few addresses and topics. */
const blooms = new Map<string, string>();
const knownBloomOf = (logs: readonly LogToMine[]): string => {
  const key = [...new Set(logs.map(({ address, topics }) => `${address}/${topics.join('/')}`))].sort().join();
  const known = blooms.get(key) ?? bloomOf(logs);
  blooms.set(key, known);
  return known;
};
