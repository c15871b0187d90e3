import type { Bundle } from '../domain/executor.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { OperationPool, PooledOperation } from './operation-pool.ts';

/** Which bundle under way has an operation: no other one may. */
export class BundleAssignments {
  constructor(
    private readonly pool: OperationPool,
    private readonly executors: readonly ExecutorAccount[],
  ) {}

  /** After a reorganisation, several bundles under way may have an operation. */
  assign({ address, state }: ExecutorAccount): void {
    for (const { nonce, operations, mined } of state.bundles) {
      if (mined) continue;
      for (const one of this.known(operations)) one.bundle = { executor: address, nonce };
    }
  }

  /** The nonce of a bundle was used. */
  leave({ nonce, operations }: Bundle, { address }: ExecutorAccount): void {
    for (const one of this.known(operations)) {
      if (one.bundle?.executor === address && one.bundle.nonce === nonce) one.bundle = this.otherBundleOf(one);
    }
  }

  private otherBundleOf({ id, bundle }: PooledOperation): PooledOperation['bundle'] {
    const all = this.executors.flatMap((account) =>
      account.noncesOf(id).map((nonce) => ({ executor: account.address, nonce })),
    );
    return all.find(({ executor, nonce }) => executor !== bundle?.executor || nonce !== bundle.nonce);
  }

  private known(operations: readonly string[]): PooledOperation[] {
    return operations.flatMap((id) => this.pool.get(id) ?? []);
  }
}
