import type { Bundle } from '../domain/executor.ts';
import type { OperationsBlock } from '../edge/operations-chain.ts';
import type { ExecutorAccount } from './executor-account.ts';

export interface MinedBundle {
  executor: ExecutorAccount;
  success: boolean;
  transactionHash: string;
}

/** How operations get into blocks: in bundles of our executors, or by bundlers of others. */
export interface BundleWork {
  /** Whether operations wait. */
  readonly waits: boolean;
  /** The operations of an executor's bundle under way are in no other one. */
  assign: (executor: ExecutorAccount) => void;
  blockCame: () => void;
  /** The nonce of a bundle was used: what became of its operations is recorded. Is repeated after a crash. */
  mined: (bundle: Bundle, by: MinedBundle) => Promise<void>;
  /** The nonce of a bundle was used by somebody else: its operations wait again. */
  lost: (bundle: Bundle, executor: ExecutorAccount) => void;
  /** Sends again what no block has yet. */
  maintain: () => Promise<void>;
  /** Sends what waits. @returns whether anything was sent */
  fill: (head: OperationsBlock) => Promise<boolean>;
}
