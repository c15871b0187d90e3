import { ChainUnavailable } from '../../../../shared/chain/chain-reader.ts';
import type { UserOperation } from '../../operations/domain/user-operation.ts';
import type { BundleTrial, OperationsChain } from '../../chain/operations-chain.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { Mempool, MempoolEntry } from '../mempool/mempool.ts';
import type { RetryPolicy } from '../mempool/retry-policy.ts';

interface BundleTrialsOptions {
  chain: Pick<OperationsChain, 'tryBundle' | 'head' | 'accounts'>;
  retries: RetryPolicy;
  mempool: Pick<Mempool, 'limitBundle'>;
}

export interface TriedBundle {
  ready: readonly MempoolEntry[];
  gasUsed: bigint;
}

/** Finds operations that a bundle can include together, and the operation at fault when a bundle fails. */
export class BundleTrials {
  constructor(private readonly options: BundleTrialsOptions) {}

  /**
   * Tries a bundle by `eth_call` until a trial succeeds. Before each further trial, removes the operation at fault and
   * its sender's later operations; if the fault is unknown, halves the bundle. Returns `undefined` if no operation is
   * left. @throws ChainUnavailable
   */
  async findExecutable(
    { address }: Pick<ExecutorAccount, 'address'>,
    all: readonly MempoolEntry[],
  ): Promise<TriedBundle | undefined> {
    let ready = all;
    while (ready.length > 0) {
      const operations = ready.map(({ operation }) => operation);
      const trial = await this.tryBundle(operations, address);
      if (trial.kind === 'ok') return { ready, gasUsed: trial.gasUsed };
      const atFault = trial.kind === 'failed' ? ready[trial.index] : ready.length === 1 ? ready[0] : undefined;
      if (atFault) {
        const reason = trial.kind === 'reverted' ? await this.reasonOf(atFault.operation) : trial.reason;
        await this.options.retries.backOff(atFault, reason);
        const { sender } = atFault.operation;
        const at = ready.indexOf(atFault);
        ready = ready.filter((entry, place) => place < at || entry.operation.sender !== sender);
      } else ready = ready.slice(0, Math.ceil(ready.length / 2));
    }
    return undefined;
  }

  /**
   * Limits later bundles with these operations to half as many, to find the operation at fault. If there is only one
   * operation, delays it instead.
   * @param leastMs the shortest delay of a single operation: each retry may cost an executor as much as the first
   * attempt
   */
  async defer(ready: readonly MempoolEntry[], reason: string, leastMs = 0): Promise<void> {
    const [first] = ready;
    if (first && ready.length === 1) await this.options.retries.backOff(first, reason, leastMs);
    else for (const { id } of ready) this.options.mempool.limitBundle(id, Math.ceil(ready.length / 2));
  }

  /**
   * Tries a bundle by `eth_call`. The result is `unanswered` if the node answers other calls but not this one: an
   * operation may be the cause.
   */
  private async tryBundle(
    operations: readonly UserOperation[],
    beneficiary: string,
  ): Promise<BundleTrial | { kind: 'unanswered'; reason: string }> {
    const { chain } = this.options;
    try {
      return await chain.tryBundle(operations, beneficiary);
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      await chain.head();
      return { kind: 'unanswered', reason: `the node does not answer the trial of its bundle: ${error.message}` };
    }
  }

  /** Returns a reason for a revert in which the EntryPoint gave none, as when the account has no code. */
  private async reasonOf({ sender, factory }: UserOperation): Promise<string> {
    if (factory) return 'the EntryPoint reverts without a reason';
    const [account] = await this.options.chain.accounts([sender]);
    return account?.hasCode ? 'the EntryPoint reverts without a reason' : 'AA20 account not deployed';
  }
}
