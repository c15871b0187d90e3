import { ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import { NO_DATA_FEE, type DataFee } from '../../chain/data-fees.ts';
import type { ForkRules } from '../../operations/domain/fork-rules.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import type {
  AccountState,
  BundleTrial,
  OperationInclusion,
  OperationsBlock,
  OperationsChain,
  SendAnswer,
  Simulation,
  SimulationRequest,
  Tips,
  TransactionReceipt,
} from '../../chain/operations-chain.ts';
import { leastTipIn } from '../../chain/send-outcome.ts';
import type { BundlerFaults } from './bundler-faults.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import type { SimulatedChain } from './simulated-chain.ts';
import { named } from './simulated-state.ts';

/** Probabilities of faults, per call. */
export interface NodeHabits {
  /** The node does not answer. */
  unavailable: number;
  /** The node accepts a transaction, but does not answer. */
  failsAfterSend: number;
  /** The node refuses a transaction, with an unknown message. */
  refuses: number;
  /** The node does not answer the trial of a bundle, but other calls. */
  ignoresTrials: number;
  /** The head is some blocks old. */
  staleHead: number;
  /** The sequence of a key counts an operation that no block includes. */
  sequenceTooHigh: number;
  /** The node omits a log. */
  logsMissing: number;
  receiptMissing: number;
  /** The receipt is of an orphaned block. */
  receiptStale: number;
  /** Balances, deposits and sequences are some blocks old. */
  staleState: number;
}

/** Called before and after each answer. May mine or reorganise; the caller of the node gets what it throws. */
export type Between = (method: string, when: 'before' | 'after') => void;

const HONEST: NodeHabits = {
  ...{ unavailable: 0, failsAfterSend: 0, refuses: 0, ignoresTrials: 0, staleHead: 0, sequenceTooHigh: 0 },
  ...{ logsMissing: 0, receiptMissing: 0, receiptStale: 0, staleState: 0 },
};
const BLOCKS_BEHIND = 3;
const GWEI = 10n ** 9n;

/** The answers of a node about a simulated chain, with faults. */
export class SimulatedNode implements OperationsChain {
  readonly chainId: number;
  readonly entryPoint: string;
  private readonly habits: NodeHabits;
  private readonly implementation: string;
  private readonly faults: BundlerFaults;
  /** As the node named it when it refused a transaction. */
  private leastTip = 0n;

  constructor(
    private readonly chain: SimulatedChain,
    private readonly random: SeededRandom,
    habits: Partial<NodeHabits> = {},
    private readonly between: Between = () => undefined,
  ) {
    this.habits = { ...HONEST, ...habits };
    this.faults = chain.faults;
    ({ chainId: this.chainId, entryPoint: this.entryPoint, implementation: this.implementation } = chain.options);
  }

  head(): Promise<OperationsBlock> {
    return this.answer('head', () => {
      const head = this.chain.blockAt(this.behind(this.habits.staleHead)) ?? this.chain.head;
      if (head !== this.chain.head) this.faults.count('a node answers with an earlier head');
      return head;
    });
  }

  blocks(numbers: readonly number[]): Promise<(OperationsBlock | undefined)[]> {
    return this.answer('blocks', () => numbers.map((number) => this.chain.blockAt(number)));
  }

  inclusions(from: number, to: number): Promise<OperationInclusion[]> {
    return this.answer('inclusions', () => {
      const found = this.chain.inclusions(from, to);
      // The logs bloom of a header shows that a block has logs: a single block never loses its only log.
      const mayLeaveOut = from < to || found.length > 1;
      if (!mayLeaveOut || found.length === 0 || !this.random.chance(this.habits.logsMissing)) return found;
      const left = this.random.between(0, found.length - 1);
      return found.filter((_, at) => at !== left);
    });
  }

  tips(): Promise<Tips> {
    return this.answer('tips', () => {
      // The node no longer names a minimum that has fallen.
      const least = this.leastTip > this.chain.pool.leastTip ? 0n : this.leastTip;
      return { asked: least > GWEI ? least : GWEI, least };
    });
  }

  dataFee(): Promise<DataFee> {
    return Promise.resolve(NO_DATA_FEE);
  }

  accounts(addresses: readonly string[]): Promise<AccountState[]> {
    return this.answer('accounts', () => {
      const get = this.reading();
      return addresses.map((address) => {
        const hasCode = get(named.code(address)) === 1n;
        return { wei: get(named.wei(address)), hasCode, depositWei: get(named.deposit(address)) };
      });
    });
  }

  implementations(addresses: readonly string[]): Promise<(string | undefined)[]> {
    return this.answer('implementations', () => {
      const get = this.reading();
      return addresses.map((address) => (get(named.code(address)) === 1n ? this.implementation : undefined));
    });
  }

  sequences(keys: readonly { sender: string; key: bigint }[]): Promise<bigint[]> {
    return this.answer('sequences', () => {
      const get = this.reading();
      return keys.map(({ sender, key }) => {
        const next = get(named.sequence(sender, key));
        if (!this.random.chance(this.habits.sequenceTooHigh)) return next;
        this.faults.count('a node counts an operation that no block includes');
        return next + 1n;
      });
    });
  }

  simulate(requests: readonly SimulationRequest[]): Promise<Simulation[]> {
    return this.answer('simulate', () => requests.map((request) => this.chain.simulate(request)));
  }

  tryBundle(operations: readonly UserOperation[], beneficiary: string): Promise<BundleTrial> {
    return this.answer('tryBundle', () => {
      if (!this.random.chance(this.habits.ignoresTrials)) return this.chain.try(operations, beneficiary);
      this.faults.count('a node does not try a bundle');
      throw new ChainUnavailable('request entity too large');
    });
  }

  forkRules(): Promise<ForkRules> {
    return this.answer('forkRules', () => this.chain.rules);
  }

  send(rawTransaction: string): Promise<SendAnswer> {
    return this.answer('send', () => {
      if (this.random.chance(this.habits.refuses)) {
        this.faults.count('a node refuses a bundle');
        return { outcome: 'refused', words: 'not today' };
      }
      const answer = this.chain.send(rawTransaction);
      this.leastTip = leastTipIn(answer.words) ?? this.leastTip;
      if (this.random.chance(this.habits.failsAfterSend)) {
        this.faults.count('a node accepts a transaction and does not answer');
        throw new ChainUnavailable('no answer after the transaction was accepted');
      }
      return answer;
    });
  }

  transactionCount(address: string, blockNumber: number): Promise<number> {
    return this.answer('transactionCount', () => {
      if (this.behind(this.habits.staleHead) < blockNumber) {
        this.faults.count('a node does not have a block yet');
        throw new ChainUnavailable('the node does not have the block yet');
      }
      const mark = this.chain.markAfter(blockNumber);
      return Number(this.chain.state.getAt(named.count(address), mark));
    });
  }

  receipts(hashes: readonly string[]): Promise<(TransactionReceipt | undefined)[]> {
    return this.answer('receipts', () =>
      hashes.map((hash) => {
        const receipt = this.chain.receiptOf(hash);
        if (this.random.chance(this.habits.receiptMissing)) {
          if (receipt) this.faults.count('a node does not find a receipt');
          return undefined;
        }
        const stale = this.random.chance(this.habits.receiptStale) ? this.chain.orphanedReceiptOf(hash) : undefined;
        if (stale) this.faults.count('a node answers with a receipt of an orphaned block');
        return stale ?? receipt;
      }),
    );
  }

  /** Returns a reader of the newest state, or of a state some blocks old. */
  private reading(): (name: string) => bigint {
    const mark = this.chain.markAfter(this.behind(this.habits.staleState));
    return (name) => {
      const value = this.chain.state.getAt(name, mark);
      if (value !== this.chain.state.get(name)) this.faults.count('a node answers with earlier state');
      return value;
    };
  }

  /** Returns the number of the newest block, or with this probability of an earlier one. */
  private behind(probability: number): number {
    const newest = this.chain.head.number;
    return this.random.chance(probability) ? Math.max(0, newest - this.random.between(1, BLOCKS_BEHIND)) : newest;
  }

  private async answer<T>(method: string, ask: () => T): Promise<T> {
    this.between(method, 'before');
    await Promise.resolve();
    if (this.random.chance(this.habits.unavailable)) {
      this.faults.count('a node does not answer');
      throw new ChainUnavailable(`${method}: no answer`);
    }
    const answer = ask();
    this.between(method, 'after');
    return answer;
  }
}
