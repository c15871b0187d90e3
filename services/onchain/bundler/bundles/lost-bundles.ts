import type { Logger } from 'pino';
import { loseBundle, type Bundle } from '../domain/executor.ts';
import type { OperationsChain } from '../edge/operations-chain.ts';
import type { BundleWork } from './bundle-work.ts';
import type { ExecutorAccount } from './executor-account.ts';
import type { Records } from './records.ts';

/** A node may not find the receipt of a bundle that a final block has. */
const MISSED_MOST = 5;

interface LostBundlesOptions {
  chain: Pick<OperationsChain, 'chainId' | 'transactionCount'>;
  records: Pick<Records, 'executor'>;
  executors: readonly ExecutorAccount[];
  bundles: BundleWork;
  logger: Logger;
}

/** Bundles whose nonce somebody else has used, who has the key of the executor too: they would hold their operations for ever. */
export class LostBundles {
  constructor(private readonly options: LostBundlesOptions) {}

  /** @param watch records the block that has a bundle, if one has it. @throws ChainUnavailable, BundlerWasReplaced */
  async look(newestFinal: number, watch: (executor: ExecutorAccount, bundle: Bundle) => Promise<void>): Promise<void> {
    for (const executor of this.options.executors) {
      const { underWay: bundle } = executor;
      if (!bundle || !executor.isNonceUsed) continue;
      const nextNonce = await this.options.chain.transactionCount(executor.address, newestFinal);
      if (bundle.nonce >= nextNonce) continue;
      await watch(executor, bundle);
      if (executor.underWay?.nonce !== bundle.nonce) continue;
      executor.missed += 1;
      if (executor.missed >= MISSED_MOST) await this.lose(executor, bundle, nextNonce);
    }
  }

  private async lose(executor: ExecutorAccount, bundle: Bundle, nextNonce: number): Promise<void> {
    const { chain, records, bundles, logger } = this.options;
    const { address, epoch } = executor;
    const lost = { chainId: chain.chainId, executor: address, nonce: bundle.nonce, nextNonce };
    executor.state = await records.executor(address, (state) => loseBundle(state, epoch, lost));
    executor.missed = 0;
    bundles.lost(bundle, executor);
    logger.error(
      lost,
      `somebody else sent a transaction with the key of the executor ${address}: no other installation may have its vault`,
    );
  }
}
