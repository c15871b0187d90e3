import type { Bundle } from '../domain/executor.ts';
import type { OperationsBlock } from '../../chain/operations-chain.ts';
import type { ExecutorAccount } from './executor-account.ts';

export interface MinedBundle {
  executor: ExecutorAccount;
  success: boolean;
  transactionHash: string;
}

export interface SentBundles {
  /** Whether to call `sendBundles` again immediately, because there may be more to send. */
  hasProgressed: boolean;
  /** Transaction hashes of the bundles that became pending. */
  transactionHashes: readonly string[];
}

/** Gets operations into blocks: in bundles of this service's executors, or through external bundlers. */
export interface BundleWork {
  /** Whether operations wait for a bundle. */
  readonly hasWaiting: boolean;
  /** Marks the operations of an executor's pending bundles, so that no other bundle includes them. */
  assign: (executor: ExecutorAccount) => void;
  onNewBlock: () => void;
  /**
   * Frees the operations of a mined bundle for other bundles: smaller or later ones if the bundle reverted. May be
   * called again after a crash.
   */
  onMined: (bundle: Bundle, by: MinedBundle) => Promise<void>;
  /** Frees the operations of a bundle for other bundles, because another transaction used the nonce of the bundle. */
  onLost: (bundle: Bundle, executor: ExecutorAccount) => void;
  /** Sends pending bundles again, and raises the fees of a bundle once several blocks left it out. */
  resubmitStuck: () => Promise<void>;
  /** Sends the operations that wait for a bundle. */
  sendBundles: (head: OperationsBlock) => Promise<SentBundles>;
}
