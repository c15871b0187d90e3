import { FORKS, type Fork, type ForkRules } from '../domain/fork-rules.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import type {
  BundleTrial,
  OperationInclusion,
  OperationsBlock,
  SendAnswer,
  Simulation,
  SimulationRequest,
  TransactionReceipt,
} from '../edge/operations-chain.ts';
import { BundlerFaults } from './bundler-faults.ts';
import type { SeededRandom } from '../../../shared/testing/seeded-random.ts';
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
import { readTransaction, type SimulatedTransaction } from './simulated-transaction.ts';
import { SimulatedStrangers, type StrangersHabits } from './simulated-strangers.ts';

/** Something that is done in a block without a transaction of an executor: a transfer, a deposit, what a stranger does. */
type BlockAction = (state: SimulatedState) => void;

interface SimulatedBlock extends OperationsBlock {
  /** The state before it. */
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
  /** With which probability a transaction of a block that leaves the chain is lost. */
  losesTransactions?: number;
  /** Default: the newest. */
  fork?: Fork;
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
 * A chain in memory, as it really is; what nodes say of it is SimulatedNode's. Blocks are made and dropped by its methods only,
 * and chance is that of its seed.
 */
export class SimulatedChain {
  readonly state = new SimulatedState();
  readonly entryPoint: SimulatedEntryPoint;
  readonly pool: SimulatedPool;
  readonly strangers: SimulatedStrangers;
  readonly faults: BundlerFaults;
  readonly rules: ForkRules;
  /** Hex digits: a transaction that has them in its data is never taken. */
  neverTaken: string | undefined;
  private readonly chain: SimulatedBlock[];
  private readonly known = new Map<string, SimulatedTransaction | undefined>();
  private actions: BlockAction[] = [];
  /** By transaction: what was said of it in a block that has left the chain. */
  private readonly orphaned = new Map<string, TransactionReceipt>();

  constructor(readonly options: SimulatedChainOptions) {
    const { random, genesisTime, gasOf = usualGas, fork = 'osaka', faults = new BundlerFaults() } = options;
    this.faults = faults;
    this.rules = FORKS[fork];
    this.entryPoint = new SimulatedEntryPoint(options, this.state, gasOf);
    this.pool = new SimulatedPool({ forgets: 0, leavesOut: 0, minesReplaced: 0, ...options.pool }, random, faults);
    this.strangers = new SimulatedStrangers(random, { bundle: 0, deploy: 0, drain: 0, ...options.strangers }, faults);
    this.chain = [
      {
        ...{ number: 0, hash: random.hash(), parentHash: `0x${'0'.repeat(64)}`, timestamp: genesisTime, mark: 0 },
        ...{ baseFeePerGas: FIRST_BASE_FEE, gasLimit: GAS_LIMIT },
        ...{ actions: [], transactions: [], receipts: [], inclusions: [] },
      },
    ];
  }

  get head(): OperationsBlock {
    return this.newest;
  }

  blockAt(number: number): OperationsBlock | undefined {
    return this.chain[number];
  }

  /** Of all blocks, in chain order. */
  inclusions(from = 0, to = this.head.number): OperationInclusion[] {
    return this.chain.slice(from, to + 1).flatMap(({ inclusions }) => inclusions);
  }

  receiptOf(hash: string): TransactionReceipt | undefined {
    return this.chain.flatMap(({ receipts }) => receipts).find(({ transactionHash }) => transactionHash === hash);
  }

  orphanedReceiptOf(hash: string): TransactionReceipt | undefined {
    return this.orphaned.get(hash);
  }

  /** Is done in the next block, and again in another one when that leaves the chain. */
  inNextBlock(action: BlockAction): void {
    this.actions.push(action);
  }

  sendWei(address: string, wei: bigint): void {
    this.inNextBlock((state) => state.add(named.wei(address), wei));
  }

  depositWei(address: string, wei: bigint): void {
    this.inNextBlock((state) => state.add(named.deposit(address), wei));
  }

  /** Anybody may call the factory. */
  deployAccount(owner: string): void {
    const address = this.entryPoint.accountOf(owner);
    this.inNextBlock((state) => state.set(named.code(address), 1n));
  }

  /** Makes a block of what the pool has, and of what strangers do. */
  mine(choices: BlockChoices = {}): OperationsBlock {
    const { random } = this.options;
    const parent = this.newest;
    const block: SimulatedBlock = {
      ...{ number: parent.number + 1, hash: random.hash(), parentHash: parent.hash, gasLimit: GAS_LIMIT },
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
    this.chain.push(block);
    this.pool.remove(({ from, nonce }) => nonce < this.countOf(from));
    return block;
  }

  /** Drops the newest blocks. Their transactions are in the pool again, or lost. */
  reorganise(depth: number): void {
    const { random, losesTransactions = 0 } = this.options;
    const dropped = this.chain.splice(Math.max(1, this.chain.length - depth));
    const [first] = dropped;
    if (!first) return;
    this.state.goBack(first.mark);
    this.actions.unshift(...dropped.flatMap(({ actions }) => actions));
    for (const { receipts, transactions, inclusions } of dropped) {
      if (inclusions.length > 0) this.faults.count('a reorganisation takes back a block with operations');
      for (const receipt of receipts) this.orphaned.set(receipt.transactionHash, receipt);
      const kept = transactions.filter(() => !random.chance(losesTransactions));
      if (kept.length < transactions.length) this.faults.count('a transaction of a block that left the chain is lost');
      this.pool.takeBack(kept);
    }
  }

  /** By the rules of its fork, and with the limits of a node that nobody has told otherwise. */
  send(raw: string): SendAnswer {
    if (!this.known.has(raw)) this.known.set(raw, readTransaction(raw));
    const transaction = this.known.get(raw);
    const isOfChain = transaction?.chainId === this.options.chainId;
    const isNever = this.neverTaken !== undefined && transaction?.data.includes(this.neverTaken) === true;
    const words = isNever ? 'never taken' : isOfChain ? faultOf(transaction, this.rules) : 'invalid sender';
    if (!transaction || words !== undefined) return { outcome: 'refused', words: words ?? '' };
    for (const operation of transaction.bundle?.operations ?? []) this.strangers.see(operation);
    const { from } = transaction;
    const funds = { wei: this.state.get(named.wei(from)), count: this.countOf(from) };
    return { outcome: this.pool.take(transaction, funds) ?? 'known', words: '' };
  }

  /** As of the newest block. */
  try(operations: readonly UserOperation[], beneficiary: string): BundleTrial {
    for (const operation of operations) this.strangers.see(operation);
    const mark = this.state.mark();
    const { trial } = runBundle(this, { operations, beneficiary }, this.head);
    this.state.goBack(mark);
    return trial;
  }

  /** As of the newest block; `simulateHandleOp` asks neither who signed nor when. State overrides are not looked at. */
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

  /** The nonce of an executor that is next. */
  countOf(address: string): number {
    return Number(this.state.get(named.count(address)));
  }

  /** The mark of the state after a block that is on the chain. */
  markAfter(number: number): number {
    return this.chain[number + 1]?.mark ?? this.state.mark();
  }

  private get newest(): SimulatedBlock {
    const block = this.chain.at(-1);
    if (!block) throw new Error('a chain has a first block');
    return block;
  }

  /** What only EntryPointSimulations says. */
  private requireContracts({ sender, factory, paymaster }: UserOperation): void {
    if (!factory && this.state.get(named.code(sender)) === 0n) throw new ValidationFailed('AA20 account not deployed');
    if (!paymaster || paymaster.address === this.options.paymaster.address) return;
    throw new ValidationFailed('AA30 paymaster not deployed');
  }

  private includeStrangers(block: SimulatedBlock): void {
    for (const operation of this.strangers.bundles(this.state)) {
      const { executed } = runBundle(this, { operations: [operation], beneficiary: STRANGER }, block);
      if (executed.length > 0) this.faults.count('a stranger has an operation included');
      record(executed, this.options.random.hash(), block);
    }
  }

  /** Returns the gas that it used; 0 where it has to wait. */
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

/** Much as the real contracts use. */
const usualGas: GasOf = ({ factory, paymaster }, { freshKey, hasValue }) => ({
  verification: 45_000n + (factory ? 170_000n : 0n) + (freshKey ? 17_100n : 0n) + (paymaster ? 15_000n : 0n),
  execution: 25_000n + (hasValue ? 9_000n : 0n),
});
