import type { SendOutcome } from '../../chain/operations-chain.ts';
import type { BundlerFaults } from './bundler-faults.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import type { SimulatedTransaction } from './simulated-transaction.ethers.ts';

/** Probabilities of faults, per block. */
export interface PoolHabits {
  /** The pool forgets a transaction. */
  forgets: number;
  /** Some blocks leave out all pending transactions. */
  leavesOut: number;
  /** The block includes a replaced transaction instead of its replacement. */
  minesReplaced: number;
  /** The lowest tip that the nodes take changes. */
  changesLeastTip: number;
}

const CALM: PoolHabits = { forgets: 0, leavesOut: 0, minesReplaced: 0, changesLeastTip: 0 };

interface Funds {
  wei: bigint;
  /** The next nonce. */
  count: number;
}

const GWEI = 10n ** 9n;
/** In gwei: senders offer 1 to 3. */
const LEAST_TIP_MAX = 5;

/** Enough blocks that a bundler raises its fees. */
const LEFT_OUT_BLOCKS = 4;

/** The pending transactions, as if all nodes had the same pool. */
export class SimulatedPool {
  private waiting: SimulatedTransaction[] = [];
  /** Transactions that were replaced at their nonce. A node may still have them. */
  private replaced: SimulatedTransaction[] = [];
  /** Number of further blocks that leave out all pending transactions. */
  private leftOut = 0;
  private habits: PoolHabits;
  /** The pool takes no new transaction with a lower tip, in wei per gas. */
  leastTip = 0n;
  /** Whether the pool names the lowest tip when it refuses a transaction. */
  namesLeastTip = true;

  constructor(
    habits: Partial<PoolHabits>,
    private readonly random: SeededRandom,
    private readonly faults: BundlerFaults,
  ) {
    this.habits = { ...CALM, ...habits };
  }

  get size(): number {
    return this.waiting.length;
  }

  /** Returns `undefined` if the pool accepted the transaction. */
  add(transaction: SimulatedTransaction, { wei, count }: Funds): SendOutcome | undefined {
    const { hash, from, nonce } = transaction;
    if (this.waiting.some((other) => other.hash === hash)) return 'known';
    if (nonce < count) return 'nonce-too-low';
    if (transaction.maxPriorityFeePerGas < this.leastTip) {
      this.faults.count('a node refuses a tip');
      return 'pays-too-little';
    }
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

  /** From now on the pool has no faults, and takes any tip. */
  calmDown(): void {
    this.habits = CALM;
    this.leastTip = 0n;
  }

  /** Returns how the pool refuses a tip, in the words of geth. */
  refusalOfTip(tip: bigint): string {
    const minimum = `: gas tip cap ${String(tip)}, minimum needed ${String(this.leastTip)}`;
    return `transaction underpriced${this.namesLeastTip ? minimum : ''}`;
  }

  /** Adds the transactions of an orphaned block again. */
  putBack(transactions: readonly SimulatedTransaction[]): void {
    for (const transaction of transactions) {
      const same = this.waiting.findIndex((other) => isSameNonce(other, transaction));
      if (same === -1) this.waiting.push(transaction);
      else this.replaced.push(transaction);
    }
  }

  /** Returns the transactions for the next block, in nonce order. They stay in the pool until `remove`. */
  candidates(): SimulatedTransaction[] {
    const { habits, random } = this;
    if (random.chance(habits.changesLeastTip)) this.leastTip = BigInt(random.between(0, LEAST_TIP_MAX)) * GWEI;
    if (random.chance(habits.forgets)) this.forget(random.between(0, this.waiting.length - 1));
    if (this.leftOut === 0 && this.size > 0 && random.chance(habits.leavesOut)) this.leftOut = LEFT_OUT_BLOCKS;
    if (this.leftOut > 0) {
      this.leftOut -= 1;
      this.faults.count('a block leaves out all pending transactions');
      return [];
    }
    const old = random.chance(habits.minesReplaced) ? random.pick(this.replaced) : undefined;
    if (old) this.faults.count('a block has a replaced transaction');
    const chosen = old ? [old, ...this.waiting.filter((other) => !isSameNonce(other, old))] : [...this.waiting];
    return chosen.sort((a, b) => a.nonce - b.nonce);
  }

  /** Removes transactions that are in a block, or can never be. */
  remove(isOver: (transaction: SimulatedTransaction) => boolean): void {
    this.waiting = this.waiting.filter((transaction) => !isOver(transaction));
    this.replaced = this.replaced.filter((transaction) => !isOver(transaction));
  }

  forgetAll(): void {
    if (this.size > 0) this.faults.count('a pool forgets all transactions');
    this.waiting = [];
    this.replaced = [];
  }

  private forget(index: number): void {
    if (this.waiting.splice(index, 1).length > 0) this.faults.count('a pool forgets a transaction');
  }
}

export const mostOf = ({ gasLimit, maxFeePerGas, wei }: SimulatedTransaction): bigint => gasLimit * maxFeePerGas + wei;

const isSameNonce = (transaction: SimulatedTransaction, other: SimulatedTransaction): boolean =>
  transaction.from === other.from && transaction.nonce === other.nonce;

/** Whether both fees are at least 10 % higher. */
const isRaised = (before: SimulatedTransaction, after: SimulatedTransaction): boolean =>
  after.maxFeePerGas * 10n >= before.maxFeePerGas * 11n &&
  after.maxPriorityFeePerGas * 10n >= before.maxPriorityFeePerGas * 11n;
