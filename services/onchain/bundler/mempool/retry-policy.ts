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
    const { resigner, chain } = this.options;
    this.hold(entry, leastMs);
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
    await this.delay(entry, reason);
  }

  /**
   * Delays an operation whose tip no node takes, and signs the operation again with the tip that the chain asks for, unless the
   * caller chose the tip. @param least the lowest tip that the nodes take, in wei per gas
   */
  async raiseTip(entry: MempoolEntry, least: bigint): Promise<void> {
    this.hold(entry);
    const { hasChosenTip = true } = entry.transaction.submission;
    if (!entry.isForeign && !hasChosenTip) {
      const deploys = entry.operation.factory !== undefined;
      const outcome = await this.options.resigner.resign(entry, { deploys, raisesTip: true });
      if (outcome === 'done') return;
    }
    await this.delay(entry, `its tip is below the least that the nodes of this chain take, ${String(least)} wei a gas`);
  }

  private hold({ id, refusals }: MempoolEntry, leastMs = 0): void {
    const { clock, mempool } = this.options;
    const retryMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** refusals);
    mempool.backOff(id, clock.elapsed() + Math.max(retryMs, leastMs));
  }

  private async delay({ id }: MempoolEntry, reason: string): Promise<void> {
    const { streams, mempool } = this.options;
    mempool.put(id, await streams.transaction(id, (transaction) => delay(transaction, reason)));
  }
}
