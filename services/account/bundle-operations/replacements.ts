import type { PooledOperation } from './operation-pool.ts';

/** Signs operations anew that cannot be included as they are. */
export interface Replacements {
  /**
   * Stores an operation of the same nonce that deploys the account, or does not any more, which is then taken as any other.
   * @returns whether there is one now: not of an operation that came signed
   */
  signAnew: (one: PooledOperation, change: { deploys: boolean }) => Promise<boolean>;
}
