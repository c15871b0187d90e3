import type { Bundle } from '../domain/executor.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { Mempool, MempoolEntry } from '../mempool/mempool.ts';

/** Tracks which pending bundle contains each operation, so that no other bundle includes the operation. */
export class BundleAssignments {
  constructor(
    private readonly mempool: Mempool,
    private readonly executors: readonly ExecutorAccount[],
  ) {}

  /**
   * Assigns each operation of an executor's pending bundles to its bundle. After a reorganisation, several bundles may
   * contain the same operation: the bundle with the highest nonce counts.
   */
  assign({ address, state }: ExecutorAccount): void {
    for (const { nonce, operations, mined } of state.bundles) {
      if (mined) continue;
      for (const entry of this.known(operations)) this.mempool.setBundle(entry.id, { executor: address, nonce });
    }
  }

  /** Unassigns a bundle's operations. An operation that another pending bundle contains is assigned to that bundle. */
  release({ nonce, operations }: Bundle, { address }: ExecutorAccount): void {
    for (const entry of this.known(operations)) {
      if (entry.bundle?.executor === address && entry.bundle.nonce === nonce)
        this.mempool.setBundle(entry.id, this.otherBundleOf(entry));
    }
  }

  private otherBundleOf({ id, bundle }: MempoolEntry): MempoolEntry['bundle'] {
    const all = this.executors.flatMap((account) =>
      account.pendingNoncesWith(id).map((nonce) => ({ executor: account.address, nonce })),
    );
    return all.find(({ executor, nonce }) => executor !== bundle?.executor || nonce !== bundle.nonce);
  }

  private known(operations: readonly string[]): MempoolEntry[] {
    return operations.flatMap((id) => this.mempool.get(id) ?? []);
  }
}
