import type { Hardfork } from '../../../../shared/chain/hardforks.ts';
import { FORKS, type ForkRules } from '../../operations/domain/fork-rules.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import type {
  BundleTrial,
  OperationInclusion,
  OperationsBlock,
  SendAnswer,
  Simulation,
  SimulationRequest,
  TransactionReceipt,
} from '../../chain/operations-chain.ts';
import { ForkingChain, linkTo } from '../../../../shared/testing/chain/forking-chain.ts';
import { BundlerFaults } from './bundler-faults.ts';
import type { SeededRandom } from '../../../../shared/testing/simulation/seeded-random.ts';
import { faultOf, GAS_LIMIT, nextBaseFee } from './simulated-block-rules.ts';
import { runBundle } from './simulated-bundle.ts';
import {
  priceOf,
  SimulatedEntryPoint,
  ValidationFailed,
  type Executed,
  type GasOf,
  type SimulatedContracts,
} from './simulated-entry-point.ts';
import { callTarget } from './simulated-probe.ts';
import { mostOf, SimulatedPool, type PoolHabits } from './simulated-pool.ts';
import { named, SimulatedState } from './simulated-state.ts';
import { readTransaction, type SimulatedTransaction } from './simulated-transaction.ethers.ts';
import { SimulatedStrangers, type StrangersHabits } from './simulated-strangers.ts';

/** A change in a block without a transaction of an executor: a transfer, a deposit, an action of a stranger. */
type BlockAction = (state: SimulatedState) => void;

interface SimulatedBlock extends OperationsBlock {
  /** Marks the state before the block. */
  mark: number;
  actions: BlockAction[];
  transactions: SimulatedTransaction[];
  receipts: TransactionReceipt[];
  inclusions: OperationInclusion[];
}

export interface SimulatedChainOptions extends SimulatedContracts {
  random: SeededRandom;
  genesisTime: number;
  gasOf?: GasOf;
  pool?: Partial<PoolHabits>;
  strangers?: Partial<StrangersHabits>;
  /** The probability that a transaction of an orphaned block is lost. */
  losesTransactions?: number;
  /** Default: the newest fork. */
  fork?: Hardfork;
  faults?: BundlerFaults;
}

interface BlockChoices {
  timestamp?: number;
  baseFeePerGas?: bigint;
}

const GWEI = 10n ** 9n;
const FIRST_BASE_FEE = GWEI;
const SECONDS_BETWEEN_BLOCKS = 15;
const STRANGER = `0x${'5'.repeat(40)}`;

/**
 * The true state of a chain in memory; SimulatedNode gives a node's answers about it. Blocks come and go only by calls of its
 * methods, and all chance comes from its seed.
 */
export class SimulatedChain {
  readonly state = new SimulatedState();
  readonly entryPoint: SimulatedEntryPoint;
  readonly pool: SimulatedPool;
  readonly strangers: SimulatedStrangers;
  readonly faults: BundlerFaults;
  readonly rules: ForkRules;
  /** Hex digits: the chain refuses every transaction whose data contains them. */
  refusedData: string | undefined;
  private readonly chain = new ForkingChain<SimulatedBlock>(Infinity);
  private readonly known = new Map<string, SimulatedTransaction | undefined>();
  private actions: BlockAction[] = [];
  /** By transaction hash: the receipt from an orphaned block. */
  private readonly orphaned = new Map<string, TransactionReceipt>();

  constructor(readonly options: SimulatedChainOptions) {
    const { random, genesisTime, gasOf = usualGas, fork = 'osaka', faults = new BundlerFaults() } = options;
    this.faults = faults;
    this.rules = FORKS[fork];
    this.entryPoint = new SimulatedEntryPoint(options, this.state, gasOf);
    this.pool = new SimulatedPool(options.pool ?? {}, random, faults);
    this.strangers = new SimulatedStrangers(random, { bundle: 0, deploy: 0, drain: 0, ...options.strangers }, faults);
    this.chain.add({
      ...{ ...linkTo(undefined, random.hash()), timestamp: genesisTime, mark: 0 },
      ...{ baseFeePerGas: FIRST_BASE_FEE, gasLimit: GAS_LIMIT },
      ...{ actions: [], transactions: [], receipts: [], inclusions: [] },
    });
  }

  get head(): OperationsBlock {
    return this.chain.newest;
  }

  blockAt(number: number): OperationsBlock | undefined {
    return this.chain.canonical[number];
  }

  /** Returns the operations in a range of blocks, by default in all, in chain order. */
  inclusions(from = 0, to = this.head.number): OperationInclusion[] {
    return this.chain.canonical.slice(from, to + 1).flatMap(({ inclusions }) => inclusions);
  }

  receiptOf(hash: string): TransactionReceipt | undefined {
    return this.chain.canonical
      .flatMap(({ receipts }) => receipts)
      .find(({ transactionHash }) => transactionHash === hash);
  }

  orphanedReceiptOf(hash: string): TransactionReceipt | undefined {
    return this.orphaned.get(hash);
  }

  /** Runs an action in the next block, and again in another block if that one is orphaned. */
  inNextBlock(action: BlockAction): void {
    this.actions.push(action);
  }

  sendWei(address: string, wei: bigint): void {
    this.inNextBlock((state) => state.add(named.wei(address), wei));
  }

  depositWei(address: string, wei: bigint): void {
    this.inNextBlock((state) => state.add(named.deposit(address), wei));
  }

  /** Deploys an account without an operation, for anybody may call the factory. */
  deployAccount(owner: string): void {
    const address = this.entryPoint.accountOf(owner);
    this.inNextBlock((state) => state.set(named.code(address), 1n));
  }

  /** Makes a block from the pool and the actions of strangers. */
  mine(choices: BlockChoices = {}): OperationsBlock {
    const { random } = this.options;
    const parent = this.chain.newest;
    const block: SimulatedBlock = {
      ...{ ...linkTo(parent, random.hash()), gasLimit: GAS_LIMIT },
      timestamp: choices.timestamp ?? parent.timestamp + random.between(1, SECONDS_BETWEEN_BLOCKS),
      baseFeePerGas: choices.baseFeePerGas ?? nextBaseFee(parent.baseFeePerGas, random),
      mark: this.state.mark(),
      actions: [...this.actions, ...this.strangers.actions(this.entryPoint)],
      ...{ transactions: [], receipts: [], inclusions: [] },
    };
    this.actions = [];
    for (const action of block.actions) action(this.state);
    const strangersFirst = random.chance(1 / 2);
    if (strangersFirst) this.includeStrangers(block);
    let gasLeft = GAS_LIMIT;
    for (const transaction of this.pool.candidates()) {
      if (transaction.gasLimit <= gasLeft) gasLeft -= this.include(transaction, block);
    }
    if (!strangersFirst) this.includeStrangers(block);
    this.chain.add(block);
    this.pool.remove(({ from, nonce }) => nonce < this.countOf(from));
    return block;
  }

  /** Orphans the newest blocks, but never the first. Their transactions return to the pool, or are lost. */
  reorganise(depth: number): void {
    const { random, losesTransactions = 0 } = this.options;
    const dropped = this.chain.drop(Math.min(depth, this.chain.canonical.length - 1));
    const [first] = dropped;
    if (!first) return;
    this.state.goBack(first.mark);
    this.actions.unshift(...dropped.flatMap(({ actions }) => actions));
    for (const { receipts, transactions, inclusions } of dropped) {
      if (inclusions.length > 0) this.faults.count('a reorganisation orphans a block with operations');
      for (const receipt of receipts) this.orphaned.set(receipt.transactionHash, receipt);
      const kept = transactions.filter(() => !random.chance(losesTransactions));
      if (kept.length < transactions.length) this.faults.count('a transaction of an orphaned block is lost');
      this.pool.putBack(kept);
    }
  }

  /** Accepts a transaction by the rules of the fork and the default limits of a node. */
  send(raw: string): SendAnswer {
    if (!this.known.has(raw)) this.known.set(raw, readTransaction(raw));
    const transaction = this.known.get(raw);
    const isOfChain = transaction?.chainId === this.options.chainId;
    const isNever = this.refusedData !== undefined && transaction?.data.includes(this.refusedData) === true;
    const words = isNever ? 'never taken' : isOfChain ? faultOf(transaction, this.rules) : 'invalid sender';
    if (!transaction || words !== undefined) return { outcome: 'refused', words: words ?? '' };
    for (const operation of transaction.bundle?.operations ?? []) this.strangers.see(operation);
    const { from } = transaction;
    const funds = { wei: this.state.get(named.wei(from)), count: this.countOf(from) };
    const outcome = this.pool.add(transaction, funds) ?? 'known';
    const isTooLow = outcome === 'pays-too-little';
    return { outcome, words: isTooLow ? this.pool.refusalOfTip(transaction.maxPriorityFeePerGas) : '' };
  }

  /** Runs a bundle on the newest state, and undoes it. */
  try(operations: readonly UserOperation[], beneficiary: string): BundleTrial {
    for (const operation of operations) this.strangers.see(operation);
    const mark = this.state.mark();
    const { trial } = runBundle(this, { operations, beneficiary }, this.head);
    this.state.goBack(mark);
    return trial;
  }

  /**
   * Runs `simulateHandleOp` on the newest state, and undoes it. Like the real one, it checks neither signers nor times. Ignores
   * state overrides.
   */
  simulate({ operation, target, asDeployed }: SimulationRequest): Simulation {
    const { state, entryPoint, head } = this;
    const mark = state.mark();
    try {
      if (asDeployed) state.set(named.code(entryPoint.accountOf(asDeployed.owner)), 1n);
      this.requireContracts(operation);
      const validated = entryPoint.prepay(operation);
      const { actualGasCost } = entryPoint.execute(validated, head);
      const reverted = target && callTarget(entryPoint, target, validated.gas.execution);
      const { gas, account, paymaster } = validated;
      if (!account.failed && !paymaster.failed) this.strangers.see(operation);
      const preOpGas = operation.preVerificationGas + gas.verification;
      const result = { targetSuccess: target !== undefined && reverted === undefined, targetResult: reverted ?? '0x' };
      return { kind: 'valid', preOpGas, paid: actualGasCost, account, paymaster, ...result };
    } catch (error) {
      if (!(error instanceof ValidationFailed)) throw error;
      return { kind: 'refused', reason: error.reason ?? '', revertData: '0x' };
    } finally {
      state.goBack(mark);
    }
  }

  /** Returns the next nonce of an executor. */
  countOf(address: string): number {
    return Number(this.state.get(named.count(address)));
  }

  /** Returns the mark of the state after a block of the chain. */
  markAfter(number: number): number {
    return this.chain.canonical[number + 1]?.mark ?? this.state.mark();
  }

  /** Refuses what only EntryPointSimulations refuses. */
  private requireContracts({ sender, factory, paymaster }: UserOperation): void {
    if (!factory && this.state.get(named.code(sender)) === 0n) throw new ValidationFailed('AA20 account not deployed');
    if (!paymaster || paymaster.address === this.options.paymaster.address) return;
    throw new ValidationFailed('AA30 paymaster not deployed');
  }

  private includeStrangers(block: SimulatedBlock): void {
    for (const operation of this.strangers.bundles(this.state)) {
      const { executed } = runBundle(this, { operations: [operation], beneficiary: STRANGER }, block);
      if (executed.length > 0) this.faults.count('a stranger bundles an operation');
      record(executed, this.options.random.hash(), block);
    }
  }

  /** Includes a transaction in a block. Returns the gas used; 0 if the transaction has to wait. */
  private include(transaction: SimulatedTransaction, block: SimulatedBlock): bigint {
    const { state } = this;
    const { from, nonce, maxFeePerGas, bundle, to, wei, intrinsicGas, gasLimit } = transaction;
    const balance = state.get(named.wei(from));
    if (nonce !== this.countOf(from) || maxFeePerGas < block.baseFeePerGas || balance < mostOf(transaction)) return 0n;
    state.set(named.count(from), BigInt(nonce + 1));
    let gasUsed = intrinsicGas;
    let success = true;
    if (bundle && to === this.options.entryPoint) {
      const run = runBundle(this, bundle, block, gasLimit - intrinsicGas);
      success = run.trial.kind === 'ok';
      gasUsed += run.gasUsed;
      record(run.executed, transaction.hash, block);
    } else {
      state.add(named.wei(from), -wei);
      state.add(named.wei(to), wei);
    }
    state.add(named.wei(from), -gasUsed * priceOf({ ...transaction, baseFeePerGas: block.baseFeePerGas }));
    block.transactions.push(transaction);
    const { hash: blockHash, number: blockNumber } = block;
    block.receipts.push({ transactionHash: transaction.hash, blockHash, blockNumber, success });
    return gasUsed;
  }
}

const record = (executed: readonly Executed[], transactionHash: string, block: SimulatedBlock): void => {
  for (const event of executed) {
    const { hash: blockHash, number: blockNumber, inclusions } = block;
    inclusions.push({ ...event, transactionHash, blockHash, blockNumber, logIndex: inclusions.length });
  }
};

/** About the gas that the real contracts use. */
const usualGas: GasOf = ({ factory, paymaster }, { freshKey, hasValue }) => ({
  verification: 45_000n + (factory ? 170_000n : 0n) + (freshKey ? 17_100n : 0n) + (paymaster ? 15_000n : 0n),
  execution: 25_000n + (hasValue ? 9_000n : 0n),
});
