import type { Clock } from '../../../../shared/primitives/clock.ts';
import * as delivery from '../domain/delivery.ts';
import { replaceBundle, signBundle, withdrawBundle, type Bundle, type SignedBundle } from '../domain/executor.ts';
import { operationOf } from '../../transactions/domain/transaction.ts';
import { least } from '../../operations/domain/amounts.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import type { OperationsChain } from '../../chain/operations-chain.ts';
import { leastTipIn } from '../../chain/send-outcome.ts';
import type { BundleAssignments } from './bundle-assignments.ts';
import { bundleFeeCap, emptyTerms, raisedFees } from './bundle-terms.ts';
import type { BundleTrials } from './bundle-trials.ts';
import { termsOf, type BundleTerms, type ExecutorAccount } from './executor-account.ts';
import type { Mempool, MempoolEntry } from '../mempool/mempool.ts';
import type { BundlerStreams } from '../mempool/bundler-streams.ts';
import type { RetryPolicy } from '../mempool/retry-policy.ts';

/** Time from one sending of a pending bundle to the next; `RESEND_AFTER_BLOCK_MS` if a block left it out since. */
const RESEND_MS = 2_000;
const RESEND_AFTER_BLOCK_MS = 300;
/** After this many refusals of its tip, each after a block or 2 s, a bundle counts as known to no node. */
const TIP_REFUSALS_MAX = 10;
/** After blocks left out this many versions of a bundle that pays enough, an empty transaction uses its nonce. */
const VERSIONS_MAX = 9;

/** A node's refusal of a bundle. */
interface Refused {
  words: string;
  /** Whether the node takes no transaction that pays so little. */
  isTooLow: boolean;
}

interface BundleSendingOptions {
  chain: OperationsChain;
  feeCap: bigint;
  mempool: Mempool;
  streams: BundlerStreams;
  trials: BundleTrials;
  retries: RetryPolicy;
  assignments: BundleAssignments;
  clock: Clock;
  alarm: (message: string) => void;
  /** A node refused the tip of a bundle. @param offered the lowest tip that its operations offer */
  onTipRefused: (offered: bigint) => void;
}

/** Signs bundles, and sends each until a block includes the bundle or the node refuses it. */
export class BundleSending {
  constructor(private readonly options: BundleSendingOptions) {}

  /** Signs a bundle, stores it, then sends it: after a crash, the next process knows of every bundle that was sent. */
  async begin(executor: ExecutorAccount, ready: readonly MempoolEntry[], terms: BundleTerms): Promise<void> {
    const signed = this.signed(executor, ready, terms);
    await executor.record(this.options.streams, (state, epoch) => signBundle(state, epoch, signed.bundle));
    this.options.assignments.assign(executor);
    executor.updateDelivery(delivery.signed);
    await this.send(executor, signed.raw);
  }

  /** Sends the pending bundle of an executor again, with higher fees once three blocks left the bundle out. */
  async resubmit(executor: ExecutorAccount): Promise<void> {
    const { pending } = executor;
    if (!pending) return;
    const { sentAt, blocksLeftOut, hasBlockSince, tipRefusals } = executor.delivery;
    const silentMs = this.options.clock.elapsed() - sentAt;
    // Higher fees of a bundle whose tip no node takes would be at the cost of the executor.
    const paysTooLittle = blocksLeftOut >= delivery.BLOCKS_LEFT_OUT && tipRefusals === 0;
    const isSoon = hasBlockSince || paysTooLittle;
    if (silentMs < (isSoon ? RESEND_AFTER_BLOCK_MS : RESEND_MS)) return;
    if (paysTooLittle) await this.raise(executor, pending);
    else await this.sendAgain(executor, pending);
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
        `blocks leave out a bundle of ${executor.address} that pays enough: an empty transaction uses its nonce`,
      );
      return this.replace(executor, [], emptyTerms(termsOf(newest)));
    }
    if (terms.maxFeePerGas > feeCap) {
      this.options.alarm(
        `a bundle of ${executor.address} is left out of blocks at the feeCap of the chain: raise feeCap`,
      );
      executor.updateDelivery(delivery.repriced);
      return;
    }
    await this.replace(executor, newest.operations, terms);
  }

  /** Signs a new version of the pending bundle, which is a transaction with the same nonce; stores and sends it. */
  private async replace(executor: ExecutorAccount, ids: readonly string[], terms: BundleTerms): Promise<void> {
    const signed = this.signed(executor, await this.operationsOf(ids), terms);
    await executor.record(this.options.streams, (state, epoch) => replaceBundle(state, epoch, signed.bundle));
    executor.updateDelivery(delivery.repriced);
    await this.send(executor, signed.raw);
  }

  /** Sends the newest version of a bundle again. Signing that version again yields the same bytes. */
  private async sendAgain(executor: ExecutorAccount, { versions }: Bundle): Promise<void> {
    const newest = versions.at(-1);
    if (!newest) return;
    const { raw } = this.signed(executor, await this.operationsOf(newest.operations), termsOf(newest));
    await this.send(executor, raw);
  }

  private async send(executor: ExecutorAccount, raw: string): Promise<void> {
    const { chain, clock, alarm } = this.options;
    executor.updateDelivery((now) => delivery.sent(now, clock.elapsed()));
    const {
      outcome,
      words,
      isElsewhere = false,
    } = await chain.send(raw).catch((error: unknown) => {
      executor.updateDelivery(delivery.maybeKnown);
      throw error;
    });
    if (isElsewhere) executor.updateDelivery(delivery.maybeKnown);
    const isTooLow = outcome === 'pays-too-little' && !executor.delivery.isTaken;
    if (isTooLow && executor.delivery.mayBeKnown) {
      executor.updateDelivery(delivery.tipRefused);
      if (executor.delivery.tipRefusals < TIP_REFUSALS_MAX) return;
    }
    if (outcome === 'refused' || isTooLow) return this.refused(executor, { words, isTooLow });
    const isUnderpriced = outcome === 'underpriced' || outcome === 'pays-too-little';
    const reply = { isTaken: outcome === 'known', isNonceUsed: outcome === 'nonce-too-low', isUnderpriced };
    executor.updateDelivery((now) => delivery.answered(now, reply));
    if (outcome === 'insufficient-funds')
      alarm(`the executor ${executor.address} has too little balance for a bundle that was signed: send it some`);
  }

  /**
   * Frees the nonce of a bundle that the node refused: until then, the executor sends no other bundle. If a node may
   * have accepted the bundle earlier, an empty transaction uses the nonce. Otherwise the bundle is withdrawn, as is a bundle
   * that pays too little: an empty transaction would cost the executor something.
   */
  private async refused(executor: ExecutorAccount, refusal: Refused): Promise<void> {
    const { chain, clock, alarm } = this.options;
    const { pending: bundle, address } = executor;
    const newest = bundle?.versions.at(-1);
    if (!bundle || !newest) return;
    const { words, isTooLow } = refusal;
    const { maxPriorityFeePerGas: tip } = termsOf(newest);
    const isNamed = isTooLow && (leastTipIn(words) ?? 0n) > tip;
    if (!isNamed) alarm(`the node of chain ${String(chain.chainId)} refuses a bundle of ${address}: ${words}`);
    executor.updateDelivery((now) => delivery.refused(now, clock.elapsed()));
    if (executor.delivery.mayBeKnown && !isTooLow) {
      if (newest.operations.length > 0) await this.replace(executor, [], emptyTerms(termsOf(newest)));
      return;
    }
    await this.withdraw(executor, bundle, words);
    await this.bundleAgain(bundle, { ...refusal, isNamed, tip });
  }

  /**
   * If a bundle paid too little, the operations with the lowest tips are at fault: the next bundle offers as much as they do, or
   * they get the tip that the node named. If neither helps, they wait. Operations of any other bundle go into smaller bundles, to
   * find the operation at fault.
   */
  private async bundleAgain(
    { operations }: Bundle,
    { words, isTooLow, isNamed, tip }: Refused & { isNamed: boolean; tip: bigint },
  ): Promise<void> {
    const { mempool, retries, trials, onTipRefused } = this.options;
    const known = operations.flatMap((id) => mempool.get(id) ?? []);
    const reason = `the node refuses its bundle: ${words}`;
    if (!isTooLow) return trials.defer(known, reason);
    const lowest = known.filter(({ operation }) => operation.maxPriorityFeePerGas <= tip);
    const [first = 0n, ...others] = known.map(({ operation }) => operation.maxPriorityFeePerGas);
    if (isNamed || lowest.length === 0) onTipRefused(least(first, ...others));
    else for (const entry of lowest) await retries.backOff(entry, reason);
  }

  private async withdraw(executor: ExecutorAccount, bundle: Bundle, reason: string): Promise<void> {
    const { chain, streams, assignments } = this.options;
    const { nonce, versions } = bundle;
    const { transactionHash = '' } = versions.at(-1) ?? {};
    const withdrawn = { chainId: chain.chainId, executor: executor.address, nonce, transactionHash, reason };
    await executor.record(streams, (state, epoch) => withdrawBundle(state, epoch, withdrawn));
    executor.updateDelivery(delivery.maybeKnown);
    assignments.release(bundle, executor);
  }

  private async operationsOf(ids: readonly string[]): Promise<{ id: string; operation: UserOperation }[]> {
    const { mempool, streams } = this.options;
    const load = async (id: string) => mempool.get(id)?.operation ?? operationOf(await streams.loadTransaction(id));
    return Promise.all(ids.map(async (id) => ({ id, operation: await load(id) })));
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
      ...(terms.isLegacy && { isLegacy: true }),
    };
    return { raw, bundle };
  }
}
