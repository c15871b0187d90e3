import type { Logger } from 'pino';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { LogThrottle } from '../../../shared/primitives/log-throttle.ts';
import type { Bundle } from '../domain/executor.ts';
import { transactionGasMax, type ForkRules } from '../domain/fork-rules.ts';
import { encodeHandleOps } from '../domain/operation-encoding.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import { NO_DATA_FEE, type DataFee } from '../edge/data-fees.ts';
import { highestTip, type OperationsBlock, type OperationsChain } from '../edge/operations-chain.ts';
import { BundleAssignments } from './bundle-assignments.ts';
import { BundleSending } from './bundle-sending.ts';
import { bundleFeeCap, bundleFees, gasLimitOf } from './bundle-terms.ts';
import { BundleTrials } from './bundle-trials.ts';
import type { BundleWork, MinedBundle } from './bundle-work.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { ForeignEntities } from './foreign-entities.ts';
import type { OperationPool, PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';
import type { RefusedOperations } from './refused-operations.ts';

/** Blocks cost more than operations: fifty a bundle are as fast as more. */
const OPERATIONS_MAX = 50;
/** The last executor that is free takes more: where blocks are slow, nobody else sends what waits for the next one. */
const OPERATIONS_OF_LAST_MAX = 150;
/** While a bundle is under way for no longer than that, the next one fills; then another executor sends what is there. */
const SLOW_MS = 60;

/** What nobody includes is tried again: another executor's nonce may be used for nothing. */
const LEFT_OUT_MS = 600_000;

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
  private readonly assignments: BundleAssignments;
  private readonly trials: BundleTrials;
  private readonly sending: BundleSending;
  private hasNewBlock = true;
  /** What a block is paid above its base fee, as far as is known of recent ones. */
  private tipMax = 0n;
  /** Whether the newest bundle was one of others. */
  private wasForeign = false;

  constructor(private readonly options: BundlesOptions) {
    this.assignments = new BundleAssignments(options.pool, options.executors);
    this.trials = new BundleTrials(options);
    const { assignments, trials } = this;
    const alarm = (message: string) => {
      this.alarm(message);
    };
    this.sending = new BundleSending({ ...options, assignments, trials, alarm });
  }

  /** Whether operations wait for a bundle. */
  get waits(): boolean {
    const { pool, clock } = this.options;
    return pool.next({ nowMs: clock.elapsed(), baseFee: 0n, max: 1, takesForeign: true }).length > 0;
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
    const { operations, versions } = bundle;
    this.assignments.leave(bundle, executor);
    const mined = versions.find((version) => version.transactionHash === transactionHash);
    if (mined?.operations.length === 0) {
      const known = operations.flatMap((id) => this.options.pool.get(id) ?? []);
      await this.trials.setAside(known, 'no block had its bundle, although it paid enough', LEFT_OUT_MS);
    }
    if (success) return;
    for (const id of operations) {
      const one = this.options.pool.get(id);
      if (!one) continue;
      one.bundleMax = Math.max(1, Math.ceil(operations.length / 2));
      const { status } = one.transaction;
      if (operations.length > 1 || status === 'included' || status === 'reverted') continue;
      if (one.isForeign) await this.options.foreign.ban(one, transactionHash);
      await this.options.refused.refuse(one, 'the bundle with it was reverted');
    }
  }

  async maintain(): Promise<void> {
    for (const executor of this.options.executors) await this.sending.maintain(executor);
  }

  /** Makes new bundles of what waits. @returns whether there is one */
  async fill(head: OperationsBlock): Promise<boolean> {
    const { clock, executors, chain } = this.options;
    const free = executors.filter(({ underWay, waitsUntil }) => !underWay && waitsUntil <= clock.elapsed());
    let hasSent = false;
    for (const executor of free) {
      const max = executor === free.at(-1) ? OPERATIONS_OF_LAST_MAX : OPERATIONS_MAX;
      const ready = await this.choose(head.baseFeePerGas, max);
      if (ready.length === 0) break;
      await this.lookAtBlock();
      hasSent = (await this.bundle(executor, ready, { ...head, rules: await chain.forkRules() })) || hasSent;
    }
    return hasSent;
  }

  /** A bundle was sent just now, so that more may come together for the next. */
  private get isFilling(): boolean {
    const now = this.options.clock.elapsed();
    return this.options.executors.some(({ underWay, sentAt }) => underWay && now - sentAt < SLOW_MS);
  }

  /** Returns what the next bundle has. An operation that was not signed here is alone in its bundle, and may have to wait. */
  private async choose(baseFee: bigint, max: number): Promise<PooledOperation[]> {
    const looked = new Set<PooledOperation>();
    for (;;) {
      const ready = this.next(baseFee, max);
      if (ready.length < OPERATIONS_MAX && this.isFilling) return [];
      const [first] = ready;
      if (!first?.isForeign || looked.has(first)) return ready;
      await this.options.foreign.look(first);
      looked.add(first);
    }
  }

  /** Of several executors one is kept for ours, and ours come first after a bundle of others: theirs hold up none of ours. */
  private next(baseFee: bigint, max: number): PooledOperation[] {
    const { pool, clock, executors } = this.options;
    const isForeign = (id: string): boolean => pool.get(id)?.isForeign === true;
    const foreign = executors.filter(({ underWay }) => underWay?.operations.some(isForeign)).length;
    const takesForeign = foreign < Math.max(1, executors.length - 1);
    const choice = { nowMs: clock.elapsed(), baseFee, max };
    const ours = takesForeign && !this.wasForeign ? [] : pool.next({ ...choice, takesForeign: false });
    return ours.length > 0 || !takesForeign ? ours : pool.next({ ...choice, takesForeign });
  }

  /** What the executors have, and what blocks are paid, is asked once a block. */
  private async lookAtBlock(): Promise<void> {
    if (!this.hasNewBlock) return;
    const { chain, executors } = this.options;
    const [accounts, tips] = await Promise.all([chain.accounts(executors.map(({ address }) => address)), chain.tips()]);
    this.tipMax = highestTip(tips);
    for (const [at, executor] of executors.entries()) executor.wei = accounts[at]?.wei ?? 0n;
    this.hasNewBlock = false;
  }

  /** @returns whether others may go on */
  private async bundle(
    executor: ExecutorAccount,
    chosen: readonly PooledOperation[],
    { rules, ...head }: OperationsBlock & { rules: ForkRules },
  ): Promise<boolean> {
    const tried = await this.trials.withoutFaults(executor, chosen);
    if (!tried) return false;
    const { ready, gasUsed } = tried;
    const operations = ready.map(({ operation }) => operation);
    const dataFee = await this.dataFee(operations, executor.address, rules);
    const gasLimit = gasLimitOf(operations, { beneficiary: executor.address, gasUsed, rules }) + dataFee.gas;
    const feeCap = bundleFeeCap(this.options.feeCap, gasLimit);
    if (gasLimit > transactionGasMax(head, rules) || feeCap < head.baseFeePerGas) {
      // No node takes it: the executor could not send anything after it.
      await this.trials.setAside(ready, 'its bundle needs more gas, or costs more, than a transaction may here');
      return true;
    }
    const fees = bundleFees(operations, { feeCap, tipMax: this.tipMax });
    if (executor.wei < gasLimit * fees.maxFeePerGas) {
      this.alarm(`the executor ${executor.address} has too little balance to send a bundle: send it some`);
      return false;
    }
    const nonce =
      executor.state.nextNonce ?? (await this.options.chain.transactionCount(executor.address, head.number));
    this.wasForeign = ready.some(({ isForeign }) => isForeign);
    await this.sending.begin(executor, ready, { nonce, gasLimit, ...fees });
    return true;
  }

  private dataFee(operations: readonly UserOperation[], beneficiary: string, rules: ForkRules): Promise<DataFee> {
    if (rules.layerBelow === undefined) return Promise.resolve(NO_DATA_FEE);
    return this.options.chain.dataFee(encodeHandleOps(operations, beneficiary));
  }

  private alarm(message: string): void {
    if (this.alarmed.isDue(message)) this.options.logger.error({ chainId: this.options.chain.chainId }, message);
  }
}
