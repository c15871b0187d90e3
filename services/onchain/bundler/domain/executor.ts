import type { ExecutorEvent } from '../../../schemas/events/executor-events.ts';

type DataOf<Type extends ExecutorEvent['type']> = Extract<ExecutorEvent, { type: Type }>['data'];
export type SignedBundle = DataOf<'BundleSigned'>;

/** A bundle whose block is not final. */
export interface Bundle {
  nonce: number;
  /** Ids of transactions. */
  operations: readonly string[];
  /** What was signed for this nonce, the newest last: each has the same operations, but for one that has none. */
  versions: readonly SignedBundle[];
  mined: { blockHash: string; blockNumber: number; transactionHash: string; success: boolean } | undefined;
}

/** An account that sends bundles. */
export interface Executor {
  /** Of the next bundle; `undefined` before the first. */
  nextNonce: number | undefined;
  /** In the order of their nonces. */
  bundles: readonly Bundle[];
  /** Of the process that sends them. */
  epoch: number;
  /** When a block last had a bundle of it, and when a node last refused one; Unix milliseconds, 0 for never. */
  minedAt: number;
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

/** Another process has begun to send bundles. Whoever did before decides nothing any more. */
export class BundlerWasReplaced extends Error {
  override readonly name = 'BundlerWasReplaced';
}

/** Begins the work of a process: what an earlier one decides from now on is refused. */
export const replaceBundler = (
  { epoch }: Executor,
  { chainId, executor }: Pick<SignedBundle, 'chainId' | 'executor'>,
): ExecutorEvent[] => [{ type: 'BundlerReplaced', data: { chainId, executor, epoch: epoch + 1 } }];

/** @throws BundlerWasReplaced */
export const signBundle = (executor: Executor, epoch: number, bundle: SignedBundle): ExecutorEvent[] => {
  requireEpoch(executor, epoch);
  if (bundle.nonce < (executor.nextNonce ?? 0)) throw new Error(`the nonce ${String(bundle.nonce)} has a bundle`);
  return [{ type: 'BundleSigned', data: bundle }];
};

/** @throws BundlerWasReplaced */
export const replaceBundle = (executor: Executor, epoch: number, bundle: SignedBundle): ExecutorEvent[] => {
  requireEpoch(executor, epoch);
  return [{ type: 'BundleReplaced', data: bundle }];
};

/**
 * The node refused a bundle that it had never taken. Only of the newest nonce: what follows one that nobody uses would wait for
 * ever. @throws BundlerWasReplaced
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
  return [...leave(bundle, mined), { type: 'BundleMined', data: mined }];
};

/** That block left the chain. */
export const reorganiseBundle = (
  executor: Executor,
  subject: Pick<SignedBundle, 'chainId' | 'executor' | 'nonce'> & { blockHash: string },
): ExecutorEvent[] => {
  const bundle = executor.bundles.find(({ nonce }) => nonce === subject.nonce);
  return bundle?.mined?.blockHash === subject.blockHash ? leave(bundle, subject) : [];
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

/** Its nonce was used by somebody else, in a final block. @throws BundlerWasReplaced */
export const loseBundle = (executor: Executor, epoch: number, lost: DataOf<'BundleLost'>): ExecutorEvent[] => {
  requireEpoch(executor, epoch);
  const bundle = executor.bundles.find(({ nonce }) => nonce === lost.nonce);
  return bundle && !bundle.mined ? [{ type: 'BundleLost', data: lost }] : [];
};

const leave = (
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
