import type { Clock } from '../../../shared/primitives/clock.ts';
import { replaceBundle, signBundle, withdrawBundle, type Bundle, type SignedBundle } from '../domain/executor.ts';
import { operationOf } from '../domain/transaction.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import type { OperationsChain } from '../edge/operations-chain.ts';
import type { BundleAssignments } from './bundle-assignments.ts';
import { bundleFeeCap, emptyTerms, raisedFees } from './bundle-terms.ts';
import type { BundleTrials } from './bundle-trials.ts';
import { termsOf, type BundleTerms, type ExecutorAccount } from './executor-account.ts';
import type { OperationPool, PooledOperation } from './operation-pool.ts';
import type { Records } from './records.ts';

const RESEND_MS = 2_000;
const RESEND_AFTER_BLOCK_MS = 300;
/** A bundle that so many blocks left out pays too little. */
const BLOCKS_LEFT_OUT = 3;
/** After so many, blocks leave a bundle out for another reason than what it pays. */
const VERSIONS_MAX = 9;
/** How long an executor waits whose bundles a node refuses: it may refuse all of them. */
const REFUSED_FIRST_MS = 100;
const REFUSED_MAX_MS = 5_000;

interface BundleSendingOptions {
  chain: OperationsChain;
  feeCap: bigint;
  pool: OperationPool;
  records: Records;
  trials: BundleTrials;
  assignments: BundleAssignments;
  clock: Clock;
  alarm: (message: string) => void;
}

/** Signs bundles, and sends each until a block has it or no node takes it. */
export class BundleSending {
  constructor(private readonly options: BundleSendingOptions) {}

  /** It is stored before it is sent. */
  async begin(executor: ExecutorAccount, ready: readonly PooledOperation[], terms: BundleTerms): Promise<void> {
    const signed = this.signed(executor, ready, terms);
    executor.state = await this.options.records.executor(executor.address, (state) =>
      signBundle(state, executor.epoch, signed.bundle),
    );
    this.options.assignments.assign(executor);
    executor.blocksLeftOut = 0;
    executor.isNonceUsed = false;
    executor.mayBeKnown = false;
    executor.missed = 0;
    await this.send(executor, signed.raw);
  }

  /** Sends a bundle again that no block has yet, and raises its fees. */
  async maintain(executor: ExecutorAccount): Promise<void> {
    const { underWay } = executor;
    if (!underWay) return;
    const silentMs = this.options.clock.elapsed() - executor.sentAt;
    const paysTooLittle = executor.blocksLeftOut >= BLOCKS_LEFT_OUT;
    const isSoon = executor.hasBlockSince || paysTooLittle;
    if (silentMs < (isSoon ? RESEND_AFTER_BLOCK_MS : RESEND_MS)) return;
    if (paysTooLittle) await this.raise(executor, underWay);
    else await this.sendAgain(executor, underWay);
  }

  private async raise(executor: ExecutorAccount, bundle: Bundle): Promise<void> {
    const newest = bundle.versions.at(-1);
    if (!newest) return;
    const { chain } = this.options;
    const feeCap = bundleFeeCap(this.options.feeCap, BigInt(newest.gasLimit));
    const operations = (await this.operationsOf(newest.operations)).map(({ operation }) => operation);
    const terms = { ...termsOf(newest), ...raisedFees(termsOf(newest), operations, feeCap) };
    const { baseFeePerGas } = await chain.head();
    if (bundle.versions.length >= VERSIONS_MAX && termsOf(newest).maxFeePerGas > 2n * baseFeePerGas) {
      this.options.alarm(
        `blocks leave out a bundle of ${executor.address} that pays enough: its nonce is used for nothing`,
      );
      return this.replace(executor, [], emptyTerms(termsOf(newest)));
    }
    if (terms.maxFeePerGas > feeCap) {
      this.options.alarm(
        `a bundle of ${executor.address} is left out of blocks at the feeCap of the chain: raise feeCap`,
      );
      executor.blocksLeftOut = 0;
      return;
    }
    await this.replace(executor, newest.operations, terms);
  }

  /** Signs another transaction of the same nonce, and sends it. */
  private async replace(executor: ExecutorAccount, ids: readonly string[], terms: BundleTerms): Promise<void> {
    const signed = this.signed(executor, await this.operationsOf(ids), terms);
    executor.state = await this.options.records.executor(executor.address, (state) =>
      replaceBundle(state, executor.epoch, signed.bundle),
    );
    executor.blocksLeftOut = 0;
    await this.send(executor, signed.raw);
  }

  /** Sends the same bytes again. */
  private async sendAgain(executor: ExecutorAccount, { versions }: Bundle): Promise<void> {
    const newest = versions.at(-1);
    if (!newest) return;
    const { raw } = this.signed(executor, await this.operationsOf(newest.operations), termsOf(newest));
    await this.send(executor, raw);
  }

  private async send(executor: ExecutorAccount, raw: string): Promise<void> {
    const { chain, clock, alarm } = this.options;
    executor.sentAt = clock.elapsed();
    executor.hasBlockSince = false;
    const { outcome, words } = await chain.send(raw).catch((error: unknown) => {
      executor.mayBeKnown = true;
      throw error;
    });
    if (outcome === 'refused') return this.refused(executor, words);
    executor.mayBeKnown = true;
    executor.refusals = 0;
    executor.isNonceUsed ||= outcome === 'nonce-too-low';
    if (outcome === 'underpriced') executor.blocksLeftOut = BLOCKS_LEFT_OUT;
    else if (outcome === 'insufficient-funds')
      alarm(`the executor ${executor.address} has too little balance for a bundle that was signed: send it some`);
  }

  /**
   * A bundle that no node takes holds up neither its executor nor the operations of others: its nonce is free again, or is used
   * by an empty transaction where a node may have taken the bundle before. The cause is looked for among its operations.
   */
  private async refused(executor: ExecutorAccount, words: string): Promise<void> {
    const { chain, clock, alarm } = this.options;
    const { underWay: bundle, address } = executor;
    const newest = bundle?.versions.at(-1);
    if (!bundle || !newest) return;
    alarm(`the node of chain ${String(chain.chainId)} refuses a bundle of ${address}: ${words}`);
    executor.waitsUntil = clock.elapsed() + Math.min(REFUSED_MAX_MS, REFUSED_FIRST_MS * 2 ** executor.refusals);
    executor.refusals += 1;
    if (!executor.mayBeKnown) await this.withdraw(executor, bundle, words);
    else if (newest.operations.length > 0) await this.replace(executor, [], emptyTerms(termsOf(newest)));
  }

  private async withdraw(executor: ExecutorAccount, bundle: Bundle, reason: string): Promise<void> {
    const { chain, records, pool, trials, assignments } = this.options;
    const { nonce, operations, versions } = bundle;
    const { transactionHash = '' } = versions.at(-1) ?? {};
    const withdrawn = { chainId: chain.chainId, executor: executor.address, nonce, transactionHash, reason };
    executor.state = await records.executor(executor.address, (state) =>
      withdrawBundle(state, executor.epoch, withdrawn),
    );
    executor.mayBeKnown = true;
    assignments.leave(bundle, executor);
    const known = operations.flatMap((id) => pool.get(id) ?? []);
    await trials.setAside(known, `the node refuses its bundle: ${reason}`);
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
}
