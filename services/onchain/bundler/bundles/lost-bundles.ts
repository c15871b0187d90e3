import type { Logger } from 'pino';
import { receiptMissed } from '../domain/delivery.ts';
import { loseBundle, type Bundle } from '../domain/executor.ts';
import type { OperationsChain } from '../../chain/operations-chain.ts';
import type { BundleWork } from './bundle-work.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { BundlerStreams } from '../mempool/bundler-streams.ts';

/** A bundle counts as lost after this many checks without a receipt: a node may lack the receipt of a mined bundle. */
const MISSED_MOST = 5;

interface LostBundlesOptions {
  chain: Pick<OperationsChain, 'chainId' | 'transactionCount'>;
  streams: Pick<BundlerStreams, 'executor'>;
  executors: readonly ExecutorAccount[];
  bundles: BundleWork;
  logger: Logger;
}

/**
 * Gives up bundles whose nonce somebody else with the executor's key used: otherwise their operations would wait
 * forever.
 */
export class LostBundles {
  constructor(private readonly options: LostBundlesOptions) {}

  /**
   * Gives up pending bundles whose nonce a final block used, but which have no receipt after several checks.
   * @param watch records the block of a bundle, if a block includes the bundle.
   * @throws ChainUnavailable, BundlerWasReplaced
   */
  async check(newestFinal: number, watch: (executor: ExecutorAccount, bundle: Bundle) => Promise<void>): Promise<void> {
    for (const executor of this.options.executors) {
      const { pending: bundle } = executor;
      if (!bundle || !executor.delivery.isNonceUsed) continue;
      const nextNonce = await this.options.chain.transactionCount(executor.address, newestFinal);
      if (bundle.nonce >= nextNonce) continue;
      await watch(executor, bundle);
      if (executor.pending?.nonce !== bundle.nonce) continue;
      executor.updateDelivery(receiptMissed);
      if (executor.delivery.receiptsMissed >= MISSED_MOST) await this.lose(executor, bundle, nextNonce);
    }
  }

  private async lose(executor: ExecutorAccount, bundle: Bundle, nextNonce: number): Promise<void> {
    const { chain, streams, bundles, logger } = this.options;
    const { address } = executor;
    const lost = { chainId: chain.chainId, executor: address, nonce: bundle.nonce, nextNonce };
    await executor.record(streams, (state, epoch) => loseBundle(state, epoch, lost));
    bundles.onLost(bundle, executor);
    logger.error(
      lost,
      `somebody else sent a transaction with the key of the executor ${address}: no other installation may have its vault`,
    );
  }
}
