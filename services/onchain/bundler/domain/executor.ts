import type { ExecutorEvent } from '../../../../schemas/events/onchain/executor-events.ts';

type DataOf<Type extends ExecutorEvent['type']> = Extract<ExecutorEvent, { type: Type }>['data'];
export type SignedBundle = DataOf<'BundleSigned'>;

/** A signed bundle that no final block includes. */
export interface Bundle {
  nonce: number;
  /** Ids of the user operations in the bundle. */
  operations: readonly string[];
  /**
   * The transactions signed for this nonce, newest last: with the same operations, or with none, only to use the nonce.
   */
  versions: readonly SignedBundle[];
  mined: { blockHash: string; blockNumber: number; transactionHash: string; success: boolean } | undefined;
}

/** The stored state of an account that sends bundles. */
export interface Executor {
  /** The nonce of the next bundle; `undefined` before the first bundle. */
  nextNonce: number | undefined;
  /** Bundles that no final block includes, in the order of their nonces. */
  bundles: readonly Bundle[];
  /** The number of times that a process took over this executor. Only the newest process may sign bundles. */
  epoch: number;
  /** When a bundle was last mined, in Unix milliseconds; 0 if never. */
  minedAt: number;
  /** When a bundle was last withdrawn because a node refused it, in Unix milliseconds; 0 if never. */
  refusedAt: number;
}

export const executorFold = {
  initial: { nextNonce: undefined, bundles: [], epoch: 0, minedAt: 0, refusedAt: 0 } as Executor,
  evolve: (executor: Executor, { type, data }: ExecutorEvent, time: number): Executor => {
    if (type === 'BundlerReplaced') return { ...executor, epoch: data.epoch };
    const others = executor.bundles.filter(({ nonce }) => nonce !== data.nonce);
    const bundle = executor.bundles.find(({ nonce }) => nonce === data.nonce);
    const changed = (change: Partial<Bundle>): Executor =>
      bundle
        ? { ...executor, bundles: [...others, { ...bundle, ...change }].sort((a, b) => a.nonce - b.nonce) }
        : executor;
    switch (type) {
      case 'BundleSigned': {
        const { nonce, operations } = data;
        const signed = { nonce, operations, versions: [data], mined: undefined };
        return { ...executor, nextNonce: nonce + 1, bundles: [...others, signed] };
      }
      case 'BundleReplaced':
        return changed({ versions: [...(bundle?.versions ?? []), data] });
      case 'BundleWithdrawn':
        return bundle ? { ...executor, nextNonce: data.nonce, bundles: others, refusedAt: time } : executor;
      case 'BundleMined': {
        const { blockHash, blockNumber, transactionHash, success } = data;
        const mined = changed({ mined: { blockHash, blockNumber, transactionHash, success } });
        return bundle ? { ...mined, minedAt: time } : mined;
      }
      case 'BundleReorged':
        return changed({ mined: undefined });
      case 'BundleFinalized':
        return { ...executor, bundles: others };
      case 'BundleLost':
        return { ...executor, nextNonce: Math.max(executor.nextNonce ?? 0, data.nextNonce), bundles: others };
    }
  },
};

/** Another process has started to send bundles: this process must send no more. */
export class BundlerWasReplaced extends Error {
  override readonly name = 'BundlerWasReplaced';
}

/** Starts a new epoch: from now on, earlier processes cannot sign, withdraw or give up bundles of the executor. */
export const replaceBundler = (
  { epoch }: Executor,
  { chainId, executor }: Pick<SignedBundle, 'chainId' | 'executor'>,
): ExecutorEvent[] => [{ type: 'BundlerReplaced', data: { chainId, executor, epoch: epoch + 1 } }];

/** @throws BundlerWasReplaced if another process has started to send bundles */
export const signBundle = (executor: Executor, epoch: number, bundle: SignedBundle): ExecutorEvent[] => {
  requireEpoch(executor, epoch);
  if (bundle.nonce < (executor.nextNonce ?? 0))
    throw new Error(`the nonce ${String(bundle.nonce)} already has a bundle`);
  return [{ type: 'BundleSigned', data: bundle }];
};

/** @throws BundlerWasReplaced if another process has started to send bundles */
export const replaceBundle = (executor: Executor, epoch: number, bundle: SignedBundle): ExecutorEvent[] => {
  requireEpoch(executor, epoch);
  return [{ type: 'BundleReplaced', data: bundle }];
};

/**
 * Withdraws a bundle that no node accepted, and frees its nonce. Only the bundle with the newest nonce can be
 * withdrawn: a bundle with a later nonce would wait forever for the unused nonce. @throws BundlerWasReplaced
 */
export const withdrawBundle = (
  executor: Executor,
  epoch: number,
  withdrawn: DataOf<'BundleWithdrawn'>,
): ExecutorEvent[] => {
  requireEpoch(executor, epoch);
  const bundle = executor.bundles.find(({ nonce }) => nonce === withdrawn.nonce);
  const isNewest = executor.nextNonce === withdrawn.nonce + 1;
  return bundle && !bundle.mined && isNewest ? [{ type: 'BundleWithdrawn', data: withdrawn }] : [];
};

export const mineBundle = (executor: Executor, mined: DataOf<'BundleMined'>): ExecutorEvent[] => {
  const bundle = executor.bundles.find(({ nonce }) => nonce === mined.nonce);
  if (!bundle || bundle.mined?.blockHash === mined.blockHash) return [];
  return [...orphan(bundle, mined), { type: 'BundleMined', data: mined }];
};

/** Records that the block of a mined bundle was orphaned: the bundle is pending again. */
export const reorganiseBundle = (
  executor: Executor,
  subject: Pick<SignedBundle, 'chainId' | 'executor' | 'nonce'> & { blockHash: string },
): ExecutorEvent[] => {
  const bundle = executor.bundles.find(({ nonce }) => nonce === subject.nonce);
  return bundle?.mined?.blockHash === subject.blockHash ? orphan(bundle, subject) : [];
};

export const finaliseBundle = (
  executor: Executor,
  { chainId, executor: address, nonce }: Pick<SignedBundle, 'chainId' | 'executor' | 'nonce'>,
): ExecutorEvent[] => {
  const mined = executor.bundles.find((bundle) => bundle.nonce === nonce)?.mined;
  if (!mined) return [];
  const { transactionHash } = mined;
  return [{ type: 'BundleFinalized', data: { chainId, executor: address, nonce, transactionHash } }];
};

/** Gives up a bundle whose nonce another transaction used in a final block. @throws BundlerWasReplaced */
export const loseBundle = (executor: Executor, epoch: number, lost: DataOf<'BundleLost'>): ExecutorEvent[] => {
  requireEpoch(executor, epoch);
  const bundle = executor.bundles.find(({ nonce }) => nonce === lost.nonce);
  return bundle && !bundle.mined ? [{ type: 'BundleLost', data: lost }] : [];
};

const orphan = (
  { nonce, mined }: Bundle,
  { chainId, executor }: Pick<SignedBundle, 'chainId' | 'executor'>,
): ExecutorEvent[] => {
  if (!mined) return [];
  const { transactionHash, blockHash } = mined;
  return [{ type: 'BundleReorged', data: { chainId, executor, nonce, transactionHash, blockHash } }];
};

const requireEpoch = (executor: Executor, epoch: number): void => {
  if (executor.epoch !== epoch) throw new BundlerWasReplaced('another process sends bundles now');
};
