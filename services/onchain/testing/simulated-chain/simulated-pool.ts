import type { SendOutcome } from '../edge/operations-chain.ts';
import type { BundlerFaults } from './bundler-faults.ts';
import type { SeededRandom } from '../../../shared/testing/seeded-random.ts';
import type { SimulatedTransaction } from './simulated-transaction.ts';

/** Probabilities, of each block. */
export interface PoolHabits {
  /** One transaction is forgotten. */
  forgets: number;
  /** Some blocks leave out all that waits. */
  leavesOut: number;
  /** What was replaced is put in the block, instead of what replaced it. */
  minesReplaced: number;
}

interface Funds {
  wei: bigint;
  /** The nonce that is next. */
  count: number;
}

/** So many that a bundler raises its fees. */
const LEFT_OUT_BLOCKS = 4;

/** Transactions that wait for a block, of one node that every other one agrees with. */
export class SimulatedPool {
  private waiting: SimulatedTransaction[] = [];
  /** Replaced by another of the same nonce; some node may have it still. */
  private replaced: SimulatedTransaction[] = [];
  /** Blocks that are still to leave out all that waits. */
  private leftOut = 0;

  constructor(
    public habits: PoolHabits,
    private readonly random: SeededRandom,
    private readonly faults: BundlerFaults,
  ) {}

  get size(): number {
    return this.waiting.length;
  }

  /** Returns `undefined` for what it took. */
  take(transaction: SimulatedTransaction, { wei, count }: Funds): SendOutcome | undefined {
    const { hash, from, nonce } = transaction;
    if (this.waiting.some((other) => other.hash === hash)) return 'known';
    if (nonce < count) return 'nonce-too-low';
    const same = this.waiting.find((other) => other.from === from && other.nonce === nonce);
    if (same && !isRaised(same, transaction)) return 'underpriced';
    const others = this.waiting.filter((other) => other.from === from && other !== same);
    if (wei < [transaction, ...others].reduce((sum, each) => sum + mostOf(each), 0n)) return 'insufficient-funds';
    if (same) {
      this.replaced.push(same);
      this.waiting.splice(this.waiting.indexOf(same), 1);
    }
    this.waiting.push(transaction);
    return undefined;
  }

  /** What left the chain with its block. */
  takeBack(transactions: readonly SimulatedTransaction[]): void {
    for (const transaction of transactions) {
      const same = this.waiting.findIndex((other) => isSameNonce(other, transaction));
      if (same === -1) this.waiting.push(transaction);
      else this.replaced.push(transaction);
    }
  }

  /** Returns what the next block may have, in an order that keeps each sender's; all of it stays until `remove`. */
  candidates(): SimulatedTransaction[] {
    const { habits, random } = this;
    if (random.chance(habits.forgets)) this.forget(random.between(0, this.waiting.length - 1));
    if (this.leftOut === 0 && this.size > 0 && random.chance(habits.leavesOut)) this.leftOut = LEFT_OUT_BLOCKS;
    if (this.leftOut > 0) {
      this.leftOut -= 1;
      this.faults.count('a block leaves out all that waits');
      return [];
    }
    const old = random.chance(habits.minesReplaced) ? random.pick(this.replaced) : undefined;
    if (old) this.faults.count('a block has a transaction that was replaced');
    const chosen = old ? [old, ...this.waiting.filter((other) => !isSameNonce(other, old))] : [...this.waiting];
    return chosen.sort((one, other) => one.nonce - other.nonce);
  }

  /** What is in a block, or cannot be any more. */
  remove(isOver: (transaction: SimulatedTransaction) => boolean): void {
    this.waiting = this.waiting.filter((transaction) => !isOver(transaction));
    this.replaced = this.replaced.filter((transaction) => !isOver(transaction));
  }

  forgetAll(): void {
    if (this.size > 0) this.faults.count('a pool forgets all of them');
    this.waiting = [];
    this.replaced = [];
  }

  private forget(index: number): void {
    if (this.waiting.splice(index, 1).length > 0) this.faults.count('a pool forgets a transaction');
  }
}

export const mostOf = ({ gasLimit, maxFeePerGas, wei }: SimulatedTransaction): bigint => gasLimit * maxFeePerGas + wei;

const isSameNonce = (one: SimulatedTransaction, other: SimulatedTransaction): boolean =>
  one.from === other.from && one.nonce === other.nonce;

/** Whether both fees are 10 % above. */
const isRaised = (before: SimulatedTransaction, after: SimulatedTransaction): boolean =>
  after.maxFeePerGas * 10n >= before.maxFeePerGas * 11n &&
  after.maxPriorityFeePerGas * 10n >= before.maxPriorityFeePerGas * 11n;
