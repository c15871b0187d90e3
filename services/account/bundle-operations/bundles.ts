import type { Logger } from 'pino';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import type { OperationsBlock, OperationsChain } from '../edge/operations-chain.ts';
import { replaceBundle, signBundle, type Bundle, type SignedBundle } from '../domain/executor.ts';
import { operationOf } from '../domain/transaction.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import { BundleAssignments } from './bundle-assignments.ts';
import { bundleFees, bundleGasLimit, largestGasLimit, raisedFees } from './bundle-terms.ts';
import { termsOf, type BundleTerms, type ExecutorAccount } from './executor-account.ts';
import type { ForeignEntities } from './foreign-entities.ts';
import type { OperationPool, PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';
import type { RefusedOperations } from './refused-operations.ts';
import type { BundleWork, MinedBundle } from './bundle-work.ts';

/** Blocks cost more than operations: fifty a bundle are as fast as more. */
const OPERATIONS_MAX = 50;
/** The last executor that is free takes more: where blocks are slow, nobody else sends what waits for the next one. */
const OPERATIONS_OF_LAST_MAX = 150;
/** EIP-7825: since Osaka no transaction may have more. */
const TRANSACTION_GAS_MAX = 2n ** 24n;
/** While a bundle is under way for no longer than that, the next one fills; then another executor sends what is there. */
const SLOW_MS = 60;
const RESEND_MS = 2_000;
const RESEND_AFTER_BLOCK_MS = 300;
/** A bundle that so many blocks left out pays too little. */
const BLOCKS_LEFT_OUT = 3;

interface BundlesOptions {
  chain: OperationsChain;
  feeCap: bigint;
  pool: OperationPool;
  records: Records;
  executors: readonly ExecutorAccount[];
  refused: RefusedOperations;
  foreign: ForeignEntities;
  clock: Clock;
  logger: Logger;
}

/** Makes bundles, and sends them until a block has each. */
export class Bundles implements BundleWork {
  private readonly alarmed = new LogThrottle();
  private hasNewBlock = true;
  /** Whether the newest bundle was one of others. */
  private wasForeign = false;

  private readonly assignments: BundleAssignments;

  constructor(private readonly options: BundlesOptions) {
    this.assignments = new BundleAssignments(options.pool, options.executors);
  }

  /** Whether operations wait for a bundle. */
  get waits(): boolean {
    return this.next(0n, 1).length > 0;
  }

  assign(executor: ExecutorAccount): void {
    this.assignments.assign(executor);
  }

  lost(bundle: Bundle, executor: ExecutorAccount): void {
    this.assignments.leave(bundle, executor);
  }

  blockCame(): void {
    this.hasNewBlock = true;
    for (const executor of this.options.executors) {
      executor.hasBlockSince = true;
      executor.blocksLeftOut += 1;
    }
  }

  /** Without success none of its operations was executed: one of them is at fault, unless somebody else had it included. */
  async mined(bundle: Bundle, { executor, success, transactionHash }: MinedBundle): Promise<void> {
    const { operations } = bundle;
    this.assignments.leave(bundle, executor);
    if (success) return;
    for (const id of operations) {
      const one = this.options.pool.get(id);
      if (!one) continue;
      one.bundleMax = Math.max(1, Math.ceil(operations.length / 2));
      const { status } = one.transaction;
      if (operations.length > 1 || status === 'included' || status === 'reverted') continue;
      await this.options.foreign.ban(one, transactionHash);
      await this.options.refused.refuse(one, 'the bundle with it was reverted');
    }
  }

  /** Sends bundles again that no block has yet, and raises their fees. */
  async maintain(): Promise<void> {
    for (const executor of this.options.executors) {
      const { underWay } = executor;
      if (!underWay) continue;
      const silentMs = this.options.clock.elapsed() - executor.sentAt;
      const paysTooLittle = executor.blocksLeftOut >= BLOCKS_LEFT_OUT;
      const isSoon = executor.hasBlockSince || paysTooLittle;
      if (silentMs < (isSoon ? RESEND_AFTER_BLOCK_MS : RESEND_MS)) continue;
      if (paysTooLittle) await this.raise(executor, underWay);
      else await this.send(executor, underWay);
    }
  }

  /** Makes new bundles of what waits. @returns whether there is one */
  async fill(head: OperationsBlock): Promise<boolean> {
    let hasSent = false;
    const free = this.options.executors.filter(({ underWay }) => !underWay);
    for (const executor of free) {
      const max = executor === free.at(-1) ? OPERATIONS_OF_LAST_MAX : OPERATIONS_MAX;
      const ready = await this.choose(head.baseFeePerGas, max);
      if (ready.length === 0) break;
      await this.refreshBalances();
      hasSent = (await this.bundle(executor, ready, head)) || hasSent;
    }
    return hasSent;
  }

  /** A bundle was sent just now, so that more may come together for the next. */
  private get isFilling(): boolean {
    const now = this.options.clock.elapsed();
    return this.options.executors.some(({ underWay, sentAt }) => underWay && now - sentAt < SLOW_MS);
  }

  /** Returns what the next bundle has: each operation is looked at again for it. */
  private async choose(baseFee: bigint, max: number): Promise<PooledOperation[]> {
    const looked = new Set<PooledOperation>();
    for (;;) {
      const ready = this.next(baseFee, max);
      if (ready.every((one) => looked.has(one))) return ready;
      if (ready.length < OPERATIONS_MAX && this.isFilling) return [];
      await this.options.foreign.look(ready);
      for (const one of ready) looked.add(one);
    }
  }

  /** One bundle of others is under way at a time, and ours come first after it: many of theirs hold up none of ours. */
  private next(baseFee: bigint, max: number): PooledOperation[] {
    const { pool, clock, executors } = this.options;
    const isForeign = (id: string): boolean => pool.get(id)?.isForeign === true;
    const takesForeign = !executors.some(({ underWay }) => underWay?.operations.some(isForeign));
    const choice = { nowMs: clock.elapsed(), baseFee, max };
    const ours = takesForeign && !this.wasForeign ? [] : pool.next({ ...choice, takesForeign: false });
    return ours.length > 0 || !takesForeign ? ours : pool.next({ ...choice, takesForeign });
  }

  private async refreshBalances(): Promise<void> {
    if (!this.hasNewBlock) return;
    const { chain, executors } = this.options;
    const accounts = await chain.accounts(executors.map(({ address }) => address));
    for (const [at, executor] of executors.entries()) executor.wei = accounts[at]?.wei ?? 0n;
    this.hasNewBlock = false;
  }

  private async bundle(
    executor: ExecutorAccount,
    ready: readonly PooledOperation[],
    head: OperationsBlock,
  ): Promise<boolean> {
    const { feeCap, records, chain } = this.options;
    const tried = await this.withoutFaults(executor, ready);
    if (!tried) return false;
    const operations = tried.ready.map(({ operation }) => operation);
    const enough = bundleGasLimit(operations, executor.address, tried.gasUsed);
    const isTooLarge = enough > head.gasLimit || enough > TRANSACTION_GAS_MAX;
    if (isTooLarge && tried.ready.length > 1) return this.halve(tried.ready);
    const [first] = tried.ready;
    if (first && largestGasLimit(first.operation, executor.address) > head.gasLimit && enough > head.gasLimit) {
      // No node takes it: the executor could not send anything after it.
      await this.options.refused.refuse(first, 'it needs more gas than a block has');
      return true;
    }
    const gasLimit = enough < head.gasLimit ? enough : head.gasLimit;
    const terms = { gasLimit, ...bundleFees(operations, feeCap) };
    if (executor.wei < gasLimit * terms.maxFeePerGas) {
      this.alarm(`the executor ${executor.address} has too little balance to send a bundle: send it some`);
      return false;
    }
    const nonce = executor.state.nextNonce ?? (await chain.transactionCount(executor.address, head.number));
    const signed = this.signed(executor, tried.ready, { nonce, ...terms });
    executor.state = await records.executor(executor.address, (state) =>
      signBundle(state, executor.epoch, signed.bundle),
    );
    this.assign(executor);
    executor.blocksLeftOut = 0;
    executor.isNonceUsed = false;
    executor.missed = 0;
    this.wasForeign = tried.ready.some(({ isForeign }) => isForeign);
    await this.sendRaw(executor, signed.raw);
    return true;
  }

  /** Tries a bundle on the chain as it is, and leaves out what is at fault. */
  private async withoutFaults(
    { address }: ExecutorAccount,
    all: readonly PooledOperation[],
  ): Promise<{ ready: readonly PooledOperation[]; gasUsed: bigint } | undefined> {
    let ready = all;
    while (ready.length > 0) {
      const operations = ready.map(({ operation }) => operation);
      const trial = await this.options.chain.tryBundle(operations, address);
      if (trial.kind === 'ok') return { ready, gasUsed: trial.gasUsed };
      const atFault = trial.kind === 'failed' ? ready[trial.index] : ready.length === 1 ? ready[0] : undefined;
      if (atFault) {
        const reason = trial.kind === 'failed' ? trial.reason : await this.reasonOf(atFault.operation);
        await this.options.refused.refuse(atFault, reason);
        const { sender } = atFault.operation;
        const at = ready.indexOf(atFault);
        ready = ready.filter((one, place) => place < at || one.operation.sender !== sender);
      } else ready = ready.slice(0, Math.ceil(ready.length / 2));
    }
    return undefined;
  }

  private halve(ready: readonly PooledOperation[]): boolean {
    for (const one of ready) one.bundleMax = Math.ceil(ready.length / 2);
    return true;
  }

  /** The EntryPoint says nothing of an account without code. */
  private async reasonOf({ sender, factory }: UserOperation): Promise<string> {
    if (factory) return 'the EntryPoint reverts without a reason';
    const [account] = await this.options.chain.accounts([sender]);
    return account?.hasCode ? 'the EntryPoint reverts without a reason' : 'AA20 account not deployed';
  }

  private async raise(executor: ExecutorAccount, { versions, operations }: Bundle): Promise<void> {
    const { feeCap, records } = this.options;
    const newest = versions.at(-1);
    if (!newest) return;
    const terms = { ...termsOf(newest), ...raisedFees(termsOf(newest), feeCap) };
    if (terms.maxFeePerGas > feeCap) {
      this.alarm(`a bundle of ${executor.address} is left out of blocks at the feeCap of the chain: raise feeCap`);
      executor.blocksLeftOut = 0;
      return;
    }
    const signed = this.signed(executor, await this.operationsOf(operations), terms);
    executor.state = await records.executor(executor.address, (state) =>
      replaceBundle(state, executor.epoch, signed.bundle),
    );
    executor.blocksLeftOut = 0;
    await this.sendRaw(executor, signed.raw);
  }

  /** Sends the same bytes again. */
  private async send(executor: ExecutorAccount, { versions, operations }: Bundle): Promise<void> {
    const newest = versions.at(-1);
    if (!newest) return;
    const { raw } = this.signed(executor, await this.operationsOf(operations), termsOf(newest));
    await this.sendRaw(executor, raw);
  }

  private async sendRaw(executor: ExecutorAccount, raw: string): Promise<void> {
    executor.sentAt = this.options.clock.elapsed();
    executor.hasBlockSince = false;
    const outcome = await this.options.chain.send(raw);
    executor.isNonceUsed ||= outcome === 'nonce-too-low';
    if (outcome === 'underpriced') executor.blocksLeftOut = BLOCKS_LEFT_OUT;
    else if (outcome === 'insufficient-funds') {
      this.alarm(`the executor ${executor.address} has too little balance for a bundle that was signed: send it some`);
    } else if (outcome === 'refused') {
      this.alarm(`the node of chain ${String(this.options.chain.chainId)} refuses a bundle of ${executor.address}`);
    }
  }

  private async operationsOf(ids: readonly string[]): Promise<{ id: string; operation: UserOperation }[]> {
    const { pool, records } = this.options;
    return Promise.all(
      ids.map(async (id) => ({ id, operation: pool.get(id)?.operation ?? operationOf(await records.load(id)) })),
    );
  }

  private signed(
    executor: ExecutorAccount,
    ready: readonly { id: string; operation: UserOperation }[],
    terms: BundleTerms,
  ): { raw: string; bundle: SignedBundle } {
    const operations = ready.map(({ operation }) => operation);
    const { raw, hash } = executor.sign(operations, terms);
    const bundle = {
      chainId: this.options.chain.chainId,
      executor: executor.address,
      nonce: terms.nonce,
      transactionHash: hash,
      operations: ready.map(({ id }) => id),
      gasLimit: String(terms.gasLimit),
      maxFeePerGas: String(terms.maxFeePerGas),
      maxPriorityFeePerGas: String(terms.maxPriorityFeePerGas),
    };
    return { raw, bundle };
  }

  private alarm(message: string): void {
    if (this.alarmed.isDue(message)) this.options.logger.error({ chainId: this.options.chain.chainId }, message);
  }
}
