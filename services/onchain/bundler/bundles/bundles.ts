import type { Logger } from 'pino';
import type { Clock } from '../../../../shared/primitives/clock.ts';
import { LogThrottle } from '../../../../shared/primitives/log-throttle.ts';
import { TtlCache } from '../../../../shared/primitives/ttl-cache.ts';
import { onNewBlock } from '../domain/delivery.ts';
import type { Bundle } from '../domain/executor.ts';
import { transactionGasMax, type ForkRules } from '../../operations/domain/fork-rules.ts';
import { encodeHandleOps } from '../../operations/domain/operation-encoding.ts';
import { largest } from '../../operations/domain/amounts.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import { NO_DATA_FEE, type DataFee } from '../../chain/data-fees.ts';
import type { OperationsBlock, OperationsChain, Tips } from '../../chain/operations-chain.ts';
import { BundleAssignments } from './bundle-assignments.ts';
import { BundleSending } from './bundle-sending.ts';
import { bundleFeeCap, bundleFees, gasLimitOf } from './bundle-terms.ts';
import { BundleTrials } from './bundle-trials.ts';
import type { BundleWork, MinedBundle, SentBundles } from './bundle-work.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { ForeignEntities } from '../mempool/foreign-entities.ts';
import type { Mempool, MempoolEntry } from '../mempool/mempool.ts';
import type { BundlerStreams } from '../mempool/bundler-streams.ts';
import type { RetryPolicy } from '../mempool/retry-policy.ts';

/** Maximum number of operations in a bundle. More are not faster: making a block takes longer than its operations. */
const OPERATIONS_MAX = 50;
/** Maximum for the last free executor: operations left over would wait until a block includes another bundle. */
const OPERATIONS_OF_LAST_MAX = 150;
/** After a bundle was sent, operations gather this long for the next bundle, which is sent earlier only if full. */
const SLOW_MS = 60;

/** Delay of an operation whose bundle blocks left out: each retry may cost an executor another empty transaction. */
const LEFT_OUT_MS = 600_000;

interface BundlesOptions {
  chain: OperationsChain;
  feeCap: bigint;
  mempool: Mempool;
  streams: BundlerStreams;
  executors: readonly ExecutorAccount[];
  retries: RetryPolicy;
  foreign: ForeignEntities;
  clock: Clock;
  logger: Logger;
}

const REFUSED_TIPS_KEPT_MS = 3_600_000;

/** Makes bundles of operations, and sends each bundle until a block includes it. */
export class Bundles implements BundleWork {
  private readonly alarmed = new LogThrottle();
  private readonly assignments: BundleAssignments;
  private readonly trials: BundleTrials;
  private readonly sending: BundleSending;
  /** Whether the balances of the executors and the tips may have changed since they were read. */
  private isStale = true;
  private tips: Tips = { asked: 0n, least: 0n };
  /** What the operations offered whose bundle paid too little: later bundles may offer as much. */
  private readonly refusedTips: TtlCache<bigint>;
  /** Whether the newest bundle contains a foreign operation, which a client signed. */
  private wasForeign = false;

  constructor(private readonly options: BundlesOptions) {
    this.assignments = new BundleAssignments(options.mempool, options.executors);
    this.trials = new BundleTrials(options);
    const { assignments, trials } = this;
    const alarm = (message: string) => {
      this.alarm(message);
    };
    const onTipRefused = (offered: bigint) => {
      this.isStale = true;
      this.refusedTips.set('', offered);
    };
    this.refusedTips = new TtlCache(options.clock, { max: 1, ttlMs: REFUSED_TIPS_KEPT_MS });
    this.sending = new BundleSending({ ...options, assignments, trials, alarm, onTipRefused });
  }

  get hasWaiting(): boolean {
    const { mempool, clock } = this.options;
    return mempool.next({ nowMs: clock.elapsed(), baseFee: 0n, max: 1, takesForeign: true }).length > 0;
  }

  assign(executor: ExecutorAccount): void {
    this.assignments.assign(executor);
  }

  onLost(bundle: Bundle, executor: ExecutorAccount): void {
    this.assignments.release(bundle, executor);
  }

  onNewBlock(): void {
    this.isStale = true;
    for (const executor of this.options.executors) {
      executor.updateDelivery(onNewBlock);
    }
  }

  /**
   * Frees the operations of a mined bundle. A reverted bundle executed none of its operations: one operation is at
   * fault, or another bundle had already included one.
   */
  async onMined(bundle: Bundle, { executor, success, transactionHash }: MinedBundle): Promise<void> {
    const { operations, versions } = bundle;
    this.assignments.release(bundle, executor);
    const mined = versions.find((version) => version.transactionHash === transactionHash);
    if (mined?.operations.length === 0) {
      const known = operations.flatMap((id) => this.options.mempool.get(id) ?? []);
      await this.trials.defer(known, 'blocks left out its bundle, although it paid enough', LEFT_OUT_MS);
    }
    if (success) return;
    for (const id of operations) {
      const entry = this.options.mempool.get(id);
      if (!entry) continue;
      this.options.mempool.limitBundle(id, Math.max(1, Math.ceil(operations.length / 2)));
      const { status } = entry.transaction;
      if (operations.length > 1 || status === 'included' || status === 'reverted') continue;
      if (entry.isForeign) await this.options.foreign.ban(entry, transactionHash);
      await this.options.retries.backOff(entry, 'its bundle was reverted');
    }
  }

  async resubmitStuck(): Promise<void> {
    for (const executor of this.options.executors) await this.sending.resubmit(executor);
  }

  async sendBundles(head: OperationsBlock): Promise<SentBundles> {
    const { clock, executors, chain } = this.options;
    const free = executors.filter(({ pending, delivery }) => !pending && delivery.waitsUntil <= clock.elapsed());
    const transactionHashes: string[] = [];
    let hasProgressed = false;
    for (const executor of free) {
      const max = executor === free.at(-1) ? OPERATIONS_OF_LAST_MAX : OPERATIONS_MAX;
      const ready = await this.choose(head.baseFeePerGas, max);
      if (ready.length === 0) break;
      hasProgressed =
        (await this.bundle(executor, ready, { ...head, rules: await chain.forkRules() })) || hasProgressed;
      // `pendingHash` is empty if the node refused the bundle, or if no bundle was sent.
      transactionHashes.push(...executor.pendingHash);
    }
    return { hasProgressed, transactionHashes };
  }

  /** Whether a bundle was sent less than `SLOW_MS` ago, so that operations should gather for the next bundle. */
  private get isFilling(): boolean {
    const now = this.options.clock.elapsed();
    return this.options.executors.some(({ pending, delivery }) => pending && now - delivery.sentAt < SLOW_MS);
  }

  /**
   * Returns the operations of the next bundle; `[]` if operations should gather. An operation whose tip no node takes is not
   * bundled. A foreign operation, which a client signed, is alone in its bundle, and waits while its sender, factory or
   * paymaster is banned.
   */
  private async choose(baseFee: bigint, max: number): Promise<MempoolEntry[]> {
    const checked = new Set<MempoolEntry>();
    for (;;) {
      const ready = this.next(baseFee, max);
      if (ready.length < OPERATIONS_MAX && this.isFilling) return [];
      const [first] = ready;
      if (!first) return [];
      await this.refreshBalancesAndTips();
      const { least } = this.tips;
      const low = ready.filter(({ operation }) => operation.maxPriorityFeePerGas < least);
      await all(low.map((entry) => this.options.retries.raiseTip(entry, least)));
      if (low.length > 0) continue;
      if (!first.isForeign || checked.has(first)) return ready;
      await this.options.foreign.deferBanned(first);
      checked.add(first);
    }
  }

  /**
   * Chooses operations so that foreign ones, which clients signed, do not hold up those that this service signed: one
   * of several executors takes no foreign operations, and after a foreign bundle the service's operations come first.
   */
  private next(baseFee: bigint, max: number): MempoolEntry[] {
    const { mempool, clock, executors } = this.options;
    const isForeign = (id: string): boolean => mempool.get(id)?.isForeign === true;
    const foreign = executors.filter(({ pending }) => pending?.operations.some(isForeign)).length;
    const takesForeign = foreign < Math.max(1, executors.length - 1);
    const choice = { nowMs: clock.elapsed(), baseFee, max };
    const ours = takesForeign && !this.wasForeign ? [] : mempool.next({ ...choice, takesForeign: false });
    return ours.length > 0 || !takesForeign ? ours : mempool.next({ ...choice, takesForeign });
  }

  /** Reads the balances of the executors and the tips, once per block and after a node refused a tip. */
  private async refreshBalancesAndTips(): Promise<void> {
    if (!this.isStale) return;
    const { chain, executors } = this.options;
    const [accounts, tips] = await Promise.all([chain.accounts(executors.map(({ address }) => address)), chain.tips()]);
    this.tips = tips;
    for (const [at, executor] of executors.entries()) executor.wei = accounts[at]?.wei ?? 0n;
    this.isStale = false;
  }

  /** Tries, signs and sends a bundle. @returns whether there may be more to send immediately */
  private async bundle(
    executor: ExecutorAccount,
    chosen: readonly MempoolEntry[],
    { rules, ...head }: OperationsBlock & { rules: ForkRules },
  ): Promise<boolean> {
    const tried = await this.trials.findExecutable(executor, chosen);
    if (!tried) return false;
    const { ready, gasUsed } = tried;
    const operations = ready.map(({ operation }) => operation);
    const dataFee = await this.dataFee(operations, executor.address, rules);
    const gasLimit = gasLimitOf(operations, { beneficiary: executor.address, gasUsed, rules }) + dataFee.gas;
    const feeCap = bundleFeeCap(this.options.feeCap, gasLimit);
    const { asked, least } = this.tips;
    if (gasLimit > transactionGasMax(head, rules) || feeCap < head.baseFeePerGas || feeCap < least) {
      // No node would accept the bundle, and its unused nonce would hold up every later bundle of the executor.
      await this.trials.defer(
        ready,
        'its bundle needs more gas, or higher fees, than this chain allows for a transaction',
      );
      return true;
    }
    const tipMax = largest(asked, this.refusedTips.get('') ?? 0n);
    const fees = bundleFees(operations, { feeCap, tipMax, baseFee: head.baseFeePerGas });
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

/** Waits for all, and throws the first error then: a caller that begins again must not do so beside what goes on. */
const all = async (working: readonly Promise<void>[]): Promise<void> => {
  await Promise.allSettled(working);
  await Promise.all(working);
};
