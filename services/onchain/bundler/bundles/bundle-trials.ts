import { ChainUnavailable } from '../../../shared/chain/chain-reader.ts';
import type { UserOperation } from '../domain/user-operation.ts';
import type { BundleTrial, OperationsChain } from '../edge/operations-chain.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { PooledOperation } from './operation-pool.ts';
import type { RefusedOperations } from './refused-operations.ts';

interface BundleTrialsOptions {
  chain: Pick<OperationsChain, 'tryBundle' | 'head' | 'accounts'>;
  refused: RefusedOperations;
}

export interface TriedBundle {
  ready: readonly PooledOperation[];
  gasUsed: bigint;
}

/** Finds out what may be in a bundle together, and which operation is at fault where a bundle cannot be. */
export class BundleTrials {
  constructor(private readonly options: BundleTrialsOptions) {}

  /** Tries a bundle on the chain as it is, and leaves out what is at fault. @throws ChainUnavailable */
  async withoutFaults(
    { address }: Pick<ExecutorAccount, 'address'>,
    all: readonly PooledOperation[],
  ): Promise<TriedBundle | undefined> {
    let ready = all;
    while (ready.length > 0) {
      const operations = ready.map(({ operation }) => operation);
      const trial = await this.tried(operations, address);
      if (trial.kind === 'ok') return { ready, gasUsed: trial.gasUsed };
      const atFault = trial.kind === 'failed' ? ready[trial.index] : ready.length === 1 ? ready[0] : undefined;
      if (atFault) {
        const reason = trial.kind === 'reverted' ? await this.reasonOf(atFault.operation) : trial.reason;
        await this.options.refused.refuse(atFault, reason);
        const { sender } = atFault.operation;
        const at = ready.indexOf(atFault);
        ready = ready.filter((one, place) => place < at || one.operation.sender !== sender);
      } else ready = ready.slice(0, Math.ceil(ready.length / 2));
    }
    return undefined;
  }

  /**
   * Bundles with these have half as many operations from now on; one that is alone waits, and hears why.
   * @param leastMs how long it waits at least, before it costs an executor as much again
   */
  async setAside(ready: readonly PooledOperation[], reason: string, leastMs = 0): Promise<void> {
    const [first] = ready;
    if (first && ready.length === 1) await this.options.refused.refuse(first, reason, leastMs);
    else for (const one of ready) one.bundleMax = Math.ceil(ready.length / 2);
  }

  /** Where a node does not answer a trial, one of its operations may be the cause, unless the node answers nothing at all. */
  private async tried(
    operations: readonly UserOperation[],
    beneficiary: string,
  ): Promise<BundleTrial | { kind: 'unanswered'; reason: string }> {
    const { chain } = this.options;
    try {
      return await chain.tryBundle(operations, beneficiary);
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      await chain.head();
      return { kind: 'unanswered', reason: `the node does not try its bundle: ${error.message}` };
    }
  }

  /** The EntryPoint says nothing of an account without code. */
  private async reasonOf({ sender, factory }: UserOperation): Promise<string> {
    if (factory) return 'the EntryPoint reverts without a reason';
    const [account] = await this.options.chain.accounts([sender]);
    return account?.hasCode ? 'the EntryPoint reverts without a reason' : 'AA20 account not deployed';
  }
}
