import type { Clock } from '../../../../shared/primitives/clock.ts';
import { delay } from '../../transactions/domain/transaction.ts';
import { nonceParts } from '../../operations/domain/user-operation.ts';
import type { OperationsChain } from '../../chain/operations-chain.ts';
import type { Mempool, MempoolEntry } from './mempool.ts';
import type { BundlerStreams } from './bundler-streams.ts';
import type { Resigner } from './resigner.ts';

const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 30_000;

export interface RetryPolicyOptions {
  chain: Pick<OperationsChain, 'sequences'>;
  mempool: Mempool;
  streams: BundlerStreams;
  resigner: Resigner;
  /** Searches the blocks again for an operation whose nonce is used. */
  recheckInclusion: (entry: MempoolEntry) => Promise<void>;
  clock: Clock;
}

/** Delays an operation that failed in a trial or bundle, and has the operation signed again if that helps. */
export class RetryPolicy {
  constructor(private readonly options: RetryPolicyOptions) {}

  /**
   * Delays an operation, longer after each failure. If its nonce is used (AA25), searches the blocks for the operation.
   * If its account is already deployed (AA10) or not deployed yet (AA20), signs the operation again.
   * @param leastMs the shortest delay
   */
  async backOff(entry: MempoolEntry, reason: string, leastMs = 0): Promise<void> {
    const { streams, clock, mempool, resigner, chain } = this.options;
    const retryMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** entry.refusals);
    mempool.backOff(entry.id, clock.elapsed() + Math.max(retryMs, leastMs));
    const { sender, nonce, factory } = entry.operation;
    if (reason.startsWith('AA25')) {
      const { key, sequence } = nonceParts(nonce);
      const [next = 0n] = await chain.sequences([{ sender, key }]);
      if (next > sequence) return this.options.recheckInclusion(entry);
    }
    const isDeployed = reason.startsWith('AA10') && factory !== undefined;
    const isMissing = reason.startsWith('AA20') && factory === undefined;
    if (isDeployed || isMissing) {
      const outcome = await resigner.resign(entry, { deploys: isMissing });
      if (outcome === 'done') return;
    }
    mempool.put(entry.id, await streams.transaction(entry.id, (transaction) => delay(transaction, reason)));
  }
}
